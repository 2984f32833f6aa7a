#!/bin/bash
echo "$(id -un) $HOME" >who.txt
cat /secret && echo readable >who.txt
touch /logs/agent/mine /logs/artifacts/mine || echo unwritable >who.txt
