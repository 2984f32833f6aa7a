#!/bin/bash
n=0
for f in a b c d; do [ -e $f.txt ] && n=$((n + 1)); done
awk "BEGIN { print $n / 4 }" >/logs/verifier/reward.txt
