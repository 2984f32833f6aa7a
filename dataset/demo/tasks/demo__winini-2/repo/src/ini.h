#ifndef INI_H
#define INI_H

#define INI_LINE 256

/* Finds key in section ("" is the part before the first section) and copies
   its value to out. Returns 1 when it was found, else 0. */
int ini_get(const char *text, const char *section, const char *key,
            char *out, int size);

#endif
