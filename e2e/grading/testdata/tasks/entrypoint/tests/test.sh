#!/bin/bash
sleep 0.5 # it starts again beside the verifier
if [ "$(cat /begun)" = "begun with sh -c sleep infinity as root" ] && [ "$(cat seen.txt)" = "$(cat /begun)" ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
