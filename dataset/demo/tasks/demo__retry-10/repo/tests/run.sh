#!/bin/bash
# Runs the tests; prints one line for each.
cd "$(dirname "$0")/.." || exit 1
count=0
failed=0

check() { # name, wanted, got
    count=$((count + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $count $1"
    else
        failed=1
        echo "not ok $count $1"
        echo "# got '$3', want '$2'"
    fi
}

retry() { timeout 2 bash bin/retry -d 0.1 "$@" 2>/dev/null; }

check "success ends at once" "hello" "$(retry echo hello)"
check "success has code 0" 0 "$(retry true; echo $?)"
check "an unknown option is refused" 2 "$(retry -x true; echo $?)"
echo "1..$count"
exit $failed
