/* truth.h as the Fortran workloads call it (truth.f90). */
#include "../truth.h"

void f_call(int rank, const char *name, long calls, long long sent, long long received);
void f_pair(int source, int destination, long messages, long long bytes);
int f_write(int ranks);

/* Names stay in use until the end. */
static const char *keep(const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL)
        abort();
    return copy;
}

void f_call(int rank, const char *name, long calls, long long sent, long long received)
{
    truth_call(rank, keep(name), calls, sent, received);
}
void f_pair(int source, int destination, long messages, long long bytes)
{
    truth_pair(source, destination, messages, bytes);
}
int f_write(int ranks)
{
    return truth_write(ranks);
}
