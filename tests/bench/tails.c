/* tails [calls]: all ranks make that many 8-byte MPI_Allreduce; prints percentiles of rank 0's calls in ns, the longest
 * of any rank, and page faults of rank 0's thread meanwhile.  For `make bench`: medians hide what happens rarely. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define WARM 20000

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int me;
    double in = 1, out;
    struct rusage before, after;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    long calls = argc > 1 ? atol(argv[1]) : 2000000;
    float *took = malloc((size_t)calls * sizeof *took), most;
    for (long i = 0; i < calls; i++)
        took[i] = 1; /* touches its pages first */
    for (long i = 0; i < WARM; i++)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    getrusage(RUSAGE_THREAD, &before);
    for (long i = 0; i < calls; i++) {
        double begin = now();
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        took[i] = (float)(now() - begin);
    }
    getrusage(RUSAGE_THREAD, &after);
    qsort(took, (size_t)calls, sizeof *took, by_value);
    MPI_Reduce(&took[calls - 1], &most, 1, MPI_FLOAT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (me == 0)
        printf("{\"p50\": %.0f, \"p99\": %.0f, \"p99.9\": %.0f, \"p99.99\": %.0f, \"max\": %.0f, \"faults\": %ld}\n",
               took[calls / 2], took[calls / 100 * 99], took[(long)((double)calls * 0.999)],
               took[(long)((double)calls * 0.9999)], most, after.ru_minflt - before.ru_minflt);
    free(took);
    MPI_Finalize();
    return 0;
}
