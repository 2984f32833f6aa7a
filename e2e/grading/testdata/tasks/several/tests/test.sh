#!/bin/bash
if [ "$(cat hello.txt 2>/dev/null)" = hello ]; then r=1; else r=0; fi
echo "{\"reward\": $r, \"style\": 0.25}" >/logs/verifier/reward.json
echo 0.5 >/logs/verifier/reward.txt
