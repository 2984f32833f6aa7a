# numbered prints the name of the n-th old file; number 0 is the file itself.
numbered() {
    if [ "$2" -eq 0 ]; then
        echo "$1"
    else
        echo "$1.$2"
    fi
}
