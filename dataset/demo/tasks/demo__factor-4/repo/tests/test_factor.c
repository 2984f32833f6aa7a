#include <stdio.h>
#include <string.h>
#include "factor.h"

static int failed;

static void check(const char *name, unsigned long long n, const char *want)
{
    unsigned long long f[64];
    char got[512] = "";
    int i, count = factor(n, f);
    for (i = 0; i < count; i++)
        sprintf(got + strlen(got), i ? " %llu" : "%llu", f[i]);
    if (strcmp(got, want) == 0) {
        printf("PASS: %s\n", name);
        return;
    }
    failed = 1;
    printf("FAIL: %s\n  got %s, want %s\n", name, got, want);
}

int main(void)
{
    check("one has no factors", 1, "");
    check("a prime is its own factor", 97, "97");
    check("repeated factors", 360, "2 2 2 3 3 5");
    check("the largest prime of the old table", 997ULL * 997, "997 997");
    check("one large prime factor", 2ULL * 1000003, "2 1000003");
    return failed;
}
