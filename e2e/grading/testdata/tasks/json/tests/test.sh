#!/bin/bash
if [ "$(cat hello.txt 2>/dev/null)" = "$WANT" ]; then r=1; else r=0; fi
echo "{\"correct\": $r}" >/logs/verifier/reward.json
