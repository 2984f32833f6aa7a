#!/bin/bash
tests=$(ls /tests)
echo $tests
if [ "$(cat found.txt)" = none ] && [ -x /tests/tool ] && [ "$(/tests/link)" = tool ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
