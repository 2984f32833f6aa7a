#!/bin/bash
limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes)
echo "$PWD has $limit bytes"
if [ "$PWD" = /work ] && [ "$limit" = 314572800 ] && [ -e /work/hello.txt ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
