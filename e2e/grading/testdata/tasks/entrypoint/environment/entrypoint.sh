#!/bin/bash
echo "begun with $* as $(id -un)" >/begun
exec "$@"
