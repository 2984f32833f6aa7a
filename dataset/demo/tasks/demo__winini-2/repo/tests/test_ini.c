#include <stdio.h>
#include <string.h>
#include "ini.h"

static int failed;

static void check(const char *name, const char *text, const char *section,
                  const char *key, const char *want)
{
    char got[INI_LINE] = "(none)";
    int ok;
    ini_get(text, section, key, got, sizeof got);
    ok = strcmp(got, want) == 0;
    if (!ok) {
        failed = 1;
        printf("  got \"%s\", want \"%s\"\n", got, want);
    }
    printf("[%s] Ini.%s (0 ms)\n", ok ? "       OK " : "  FAILED  ", name);
}

int main(void)
{
    check("ReadsAValue", "[a]\r\nx=1\r\n", "a", "x", "1");
    check("ReadsTheRightSection", "[a]\nx=1\n[b]\nx=2\n", "b", "x", "2");
    check("SkipsComments", "[a]\n;x=1\n#x=2\nx=3\n", "a", "x", "3");
    check("ReadsBeforeTheFirstSection", "x=0\n[a]\nx=1\n", "", "x", "0");
    return failed;
}
