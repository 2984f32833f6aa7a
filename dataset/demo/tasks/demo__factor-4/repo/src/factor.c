#include "factor.h"
#include "primes.h"

#define COUNT (sizeof PRIMES / sizeof PRIMES[0])

int factor(unsigned long long n, unsigned long long *out)
{
    int found = 0;
    unsigned i;
    for (i = 0; i < COUNT; i++) {
        unsigned long long p = PRIMES[i];
        if (p * p > n)
            break;
        while (n % p == 0) {
            out[found++] = p;
            n /= p;
        }
    }
    if (n > 1)
        out[found++] = n;
    return found;
}
