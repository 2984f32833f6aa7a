#!/bin/bash
# The verifier has the artifacts at the same paths, what a hook collected, and nothing else of the agent.
set -x
[ "$PWD" = /judge ] && [ "$(cat /app/out/hello.txt)" = hello ] && [ "$(/app/out/run)" = runs ] && [ "$(cat /logs/artifacts/state.txt)" = state ] &&
    [ -e /app/notes/a.txt ] && [ ! -e /app/notes/b.tmp ] && [ ! -e /app/state.txt ] && ls /sys/class/net | grep -q eth
echo "{\"reward\": $((1 - $?))}" >/logs/verifier/reward.json
