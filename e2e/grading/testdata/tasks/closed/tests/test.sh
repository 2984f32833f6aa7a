#!/bin/bash
# Without a network there is the loopback device and nothing else.
if [ "$(ls /sys/class/net)" = lo ] && [ "$(cat net.txt)" = lo ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
