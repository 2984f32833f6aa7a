#!/bin/bash
# Moves FILE to FILE.1, FILE.1 to FILE.2 and so on, keeping KEEP old files:
#   rotate FILE KEEP
set -euo pipefail
. "$(dirname "$0")/../lib/names.sh"
file=$1
keep=$2
for ((i = keep; i >= 0; i--)); do
    from=$(numbered "$file" "$i")
    if [ -e "$from" ]; then
        mv "$from" "$(numbered "$file" $((i + 1)))"
    fi
done
