/* For machines with a GPU and no MPI: the few MPI calls of the NCCL workloads, done through files in the folder that
 * JOB_FOLDER names; rank and size come from RANK and WORLD_SIZE.  Nothing here is an MPI call to whoever looks: with
 * WITHOUT_MPI defined truth.h states none. */
#ifndef ALONE_MPI_H
#define ALONE_MPI_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int MPI_Comm;
typedef int MPI_Op;
typedef int MPI_Datatype; /* its size */
#define MPI_COMM_WORLD    0
#define MPI_STATUS_IGNORE NULL
#define MPI_BYTE          1
#define MPI_INT           4
#define MPI_DOUBLE        8
#define MPI_SUM           0

static inline int alone_number(const char *name)
{
    const char *value = getenv(name);
    if (!value || !getenv("JOB_FOLDER")) {
        fprintf(stderr, "without MPI this needs RANK, WORLD_SIZE and JOB_FOLDER\n");
        exit(2);
    }
    return atoi(value);
}

/* Words of `from` in round `round`: written in one piece, read when they are there. */
static inline void alone_path(char path[512], long round, int from)
{
    snprintf(path, 512, "%s/%ld.%d", getenv("JOB_FOLDER"), round, from);
}
static inline void alone_say(long round, const void *data, size_t bytes)
{
    char path[512], part[520];
    alone_path(path, round, alone_number("RANK"));
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    if (!f || fwrite(data, 1, bytes, f) != bytes || fclose(f) || rename(part, path))
        exit(2);
}
static inline void alone_hear(long round, int from, void *data, size_t bytes)
{
    char path[512];
    FILE *f;
    alone_path(path, round, from);
    while (!(f = fopen(path, "r")))
        usleep(500);
    if (fread(data, 1, bytes, f) != bytes)
        exit(2);
    fclose(f);
}

static long alone_round;

static inline int MPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}
static inline int MPI_Finalize(void)
{
    return 0;
}
static inline int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    *rank = alone_number("RANK");
    return comm;
}
static inline int MPI_Comm_size(MPI_Comm comm, int *size)
{
    *size = alone_number("WORLD_SIZE");
    return comm;
}
static inline double MPI_Wtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
static inline int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (alone_number("RANK") == root)
        alone_say(alone_round, data, (size_t)count * (size_t)type);
    else
        alone_hear(alone_round, root, data, (size_t)count * (size_t)type);
    alone_round++;
    return comm;
}
/* Of doubles. */
static inline int MPI_Allreduce(const void *data, void *sum, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    double *out = sum, *part = malloc((size_t)count * sizeof *part);
    if (!part)
        exit(2);
    alone_say(alone_round, data, (size_t)count * (size_t)type);
    memset(out, 0, (size_t)count * sizeof *out);
    for (int r = 0; r < alone_number("WORLD_SIZE"); r++) {
        alone_hear(alone_round, r, part, (size_t)count * (size_t)type);
        for (int i = 0; i < count; i++)
            out[i] += part[i];
    }
    free(part);
    alone_round++;
    return op + comm;
}
static inline int MPI_Barrier(MPI_Comm comm)
{
    double none = 0, sum;
    return MPI_Allreduce(&none, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
}
/* A message that nobody sends. */
static inline int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, void *status)
{
    (void)from, (void)tag, (void)comm, (void)status;
    alone_hear(-1, 0, data, (size_t)count * (size_t)type);
    return 0;
}

#endif
