# Adds up the column whose heading is the variable column.
NR == 1 {
    for (i = 1; i <= NF; i++)
        if ($i == column)
            at = i
    if (!at) {
        print "csvsum: no column " column > "/dev/stderr"
        bad = 1
        exit 1
    }
    next
}
{ sum += $at }
END {
    if (!bad)
        print sum + 0
}
