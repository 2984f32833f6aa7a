#!/bin/bash
sleep 0.5
cp /begun seen.txt
