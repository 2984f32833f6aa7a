#!/bin/bash
# The first verification does not end: its run is killed meanwhile. The second one must be in the same
# container, and the agent must not have worked again.
echo again >>/verified
[ "$(wc -l </verified)" = 2 ] || sleep 600
if [ "$(cat once.txt)" = once ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
