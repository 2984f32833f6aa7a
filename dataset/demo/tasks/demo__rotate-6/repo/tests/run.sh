#!/bin/bash
# Runs the tests; prints one line for each.
cd "$(dirname "$0")/.." || exit 1
. lib/names.sh
failed=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

check() { # name, wanted, got
    if [ "$2" = "$3" ]; then
        echo "pass  $1"
    else
        failed=1
        echo "  got '$3', want '$2'"
        echo "FAIL  $1"
    fi
}

check names/zero "a.log" "$(numbered a.log 0)"
check names/first "a.log.1" "$(numbered a.log 1)"
check names/tenth "a.log.10" "$(numbered a.log 10)"
exit $failed
