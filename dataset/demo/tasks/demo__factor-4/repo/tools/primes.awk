# Prints src/primes.h:  awk -v limit=1000 -f tools/primes.awk > src/primes.h
BEGIN {
    printf "/* Made by tools/primes.awk: the primes below %d. */\n", limit
    print "static const unsigned PRIMES[] = {"
    for (n = 2; n < limit; n++) {
        if (composite[n])
            continue
        printf "    %d,\n", n
        for (m = n * n; m < limit; m += n)
            composite[m] = 1
    }
    print "};"
}
