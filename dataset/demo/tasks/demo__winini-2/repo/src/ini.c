#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "ini.h"

static char *trim(char *s)
{
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = '\0';
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

/* Looks at one line; returns 1 when it holds the wanted key. */
static int parse_line(char *line, const char *key, char *out, int size)
{
    char *eq;
    line = trim(line);
    if (*line == ';' || *line == '#')
        return 0;
    eq = strrchr(line, '=');
    if (!eq)
        return 0;
    *eq = '\0';
    if (strcmp(line, key) != 0)
        return 0;
    snprintf(out, size, "%s", trim(eq + 1));
    return 1;
}

int ini_get(const char *text, const char *section, const char *key,
            char *out, int size)
{
    char line[INI_LINE];
    int inside = *section == '\0';
    while (*text) {
        size_t n = strcspn(text, "\n");
        size_t keep = n < sizeof line - 1 ? n : sizeof line - 1;
        memcpy(line, text, keep);
        line[keep] = '\0';
        text += n + (text[n] == '\n');
        if (*line == '[') {
            char *close = strchr(line, ']');
            if (close)
                *close = '\0';
            inside = strcmp(line + 1, section) == 0;
        } else if (inside && parse_line(line, key, out, size)) {
            return 1;
        }
    }
    return 0;
}
