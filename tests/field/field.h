/* Shared parts of the programs of the field: several programs in a file, chosen by name, and work that takes a given
 * time. They are written as users write programs: each has a past, a few steps that went well, before its trouble. */
#ifndef FIELD_H
#define FIELD_H

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORLD     MPI_COMM_WORLD
#define NO_STATUS MPI_STATUS_IGNORE
#define BIG       200000 /* doubles: more than any MPI sends without asking the receiver */

static int rank, size;

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Computes for a number of seconds. */
static inline void work(double seconds)
{
    static volatile double x = 1;
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001 + 1e-9;
}

static inline void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

/* Healthy beginning of each program: steps of work and a global sum. */
static inline void warm(int steps)
{
    for (int i = 0; i < steps; i++) {
        double mine = rank + i, sum;
        work(0.005);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, WORLD);
    }
}

struct program {
    const char *name;
    void (*run)(void);
    int threads; /* the level that it asks for; 0: MPI_Init */
};

static inline int field_main(int argc, char **argv, const struct program *programs)
{
    for (const struct program *p = programs; p->name; p++) {
        if (argc < 2 || strcmp(p->name, argv[1]))
            continue;
        int given = 0;
        if (p->threads)
            MPI_Init_thread(&argc, &argv, p->threads, &given);
        else
            MPI_Init(&argc, &argv);
        if (given < p->threads) {
            fprintf(stderr, "no threads\n");
            return 1;
        }
        MPI_Comm_rank(WORLD, &rank);
        MPI_Comm_size(WORLD, &size);
        p->run();
        MPI_Finalize();
        return 0;
    }
    fprintf(stderr, "no such program\n");
    return 64;
}

#define FIELD_PROGRAMS(...)                                                                                            \
    int main(int argc, char **argv)                                                                                    \
    {                                                                                                                  \
        static const struct program programs[] = {__VA_ARGS__, {NULL, NULL, 0}};                                       \
        return field_main(argc, argv, programs);                                                                       \
    }

#endif
