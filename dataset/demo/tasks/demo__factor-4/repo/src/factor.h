#ifndef FACTOR_H
#define FACTOR_H

/* Writes the prime factors of n, smallest first, and returns how many there
   are (at most 63). Good for every n below 2 to the 36. */
int factor(unsigned long long n, unsigned long long *out);

#endif
