#!/bin/bash
# Runs the tests; prints one line for each.
cd "$(dirname "$0")/.." || exit 1
failed=0

check() { # name, wanted, got
    if [ "$2" = "$3" ]; then
        echo "[ok]: $1"
    else
        failed=1
        echo "  got '$3', want '$2'"
        echo "[err]: $1 in tests/run.sh"
    fi
}

csvsum() { bash bin/csvsum "$@" 2>&1; }

check "sums a column" 6 "$(printf 'name,n\na,1\nb,2\nc,3\n' | csvsum n)"
check "sums fractions" 1.5 "$(printf 'n\n1\n0.5\n' | csvsum n)"
check "an empty table sums to nothing" 0 "$(printf 'n\n' | csvsum n)"
check "an unknown column is an error" "csvsum: no column m" "$(printf 'n\n1\n' | csvsum m)"
exit $failed
