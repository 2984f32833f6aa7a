#!/bin/bash
if ls /sys/class/net | grep -q eth && grep -q eth net.txt; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
