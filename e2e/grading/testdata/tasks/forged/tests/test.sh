#!/bin/bash
[ -e solved.txt ] && echo 1 >/logs/verifier/reward.txt || echo 0 >/logs/verifier/reward.txt
sleep 1
