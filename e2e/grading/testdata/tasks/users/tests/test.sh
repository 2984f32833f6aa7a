#!/bin/bash
exec 2>&1
cat who.txt
# The agent must have been the worker, who cannot read the secret, and the verifier is root.
if [ "$(cat who.txt)" = "worker /home/worker" ] && [ "$(id -un)" = root ] && grep -q secret /secret; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
