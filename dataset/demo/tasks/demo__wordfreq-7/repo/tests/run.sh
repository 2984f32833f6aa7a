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

wordfreq() { bash bin/wordfreq "$@" | tr '\n' ' '; }

check "counts words" "2 b 1 a " "$(echo 'a b b' | wordfreq)"
check "case does not matter" "2 a " "$(echo 'a A' | wordfreq)"
check "signs are no words" "1 a 1 b " "$(echo '-- a, b!' | wordfreq)"
check "stop words are left out" "1 tree " "$(echo 'the tree' | wordfreq <(printf 'a\nthe\n'))"
echo "1..$count"
exit $failed
