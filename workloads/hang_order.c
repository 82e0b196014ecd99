/* hang_order FIRST SECOND [COUNT]: two collectives in opposite order: rank 0 FIRST SECOND, the others SECOND FIRST.
 * Each is one of barrier, bcast, gather, gatherv, scatter, reduce, allreduce, allgather, allgatherv, alltoall,
 * reduce_scatter_block and scan; with an i before it, it is started, with _init behind it, it is persistent and
 * started.  Started operations are completed in the end by one MPI_Waitall.  COUNT ints each (default 1).  Not every
 * MPI hangs in each mode: some come through, some are errors. */
#include "hang.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 18, RANKS = 16 };
static int in[MOST * RANKS], out[MOST * RANKS], counts[RANKS], places[RANKS], count = 1, requests;
static MPI_Request request[4];

#if MPI_VERSION >= 4
#define PERSISTENT(Name, name, ...)                                                                                    \
    else if (strcmp(op, #name "_init") == 0)                                                                           \
    {                                                                                                                  \
        MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request[requests]);                                             \
        MPI_Start(&request[requests++]);                                                                               \
    }
#else
#define PERSISTENT(Name, name, ...)
#endif
#define OPERATION(Name, name, ...)                                                                                     \
    if (strcmp(op, #name) == 0)                                                                                        \
        MPI_##Name(__VA_ARGS__);                                                                                       \
    else if (strcmp(op, "i" #name) == 0)                                                                               \
        MPI_I##name(__VA_ARGS__, &request[requests++]);                                                                \
    PERSISTENT(Name, name, __VA_ARGS__)

static void come_to(const char *op)
{
    OPERATION(Barrier, barrier, world)
    OPERATION(Bcast, bcast, in, count, MPI_INT, 0, world)
    OPERATION(Gather, gather, in, count, MPI_INT, out, count, MPI_INT, 0, world)
    OPERATION(Gatherv, gatherv, in, count, MPI_INT, out, counts, places, MPI_INT, 0, world)
    OPERATION(Scatter, scatter, in, count, MPI_INT, out, count, MPI_INT, 0, world)
    OPERATION(Reduce, reduce, in, out, count, MPI_INT, MPI_SUM, 0, world)
    OPERATION(Allreduce, allreduce, in, out, count, MPI_INT, MPI_SUM, world)
    OPERATION(Allgather, allgather, in, count, MPI_INT, out, count, MPI_INT, world)
    OPERATION(Allgatherv, allgatherv, in, count, MPI_INT, out, counts, places, MPI_INT, world)
    OPERATION(Alltoall, alltoall, in, count, MPI_INT, out, count, MPI_INT, world)
    OPERATION(Reduce_scatter_block, reduce_scatter_block, in, out, count, MPI_INT, MPI_SUM, world)
    OPERATION(Scan, scan, in, out, count, MPI_INT, MPI_SUM, world)
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &n);
    if (argc < 3 || n > RANKS)
        MPI_Abort(world, 2);
    count = argc > 3 ? atoi(argv[3]) : 1;
    if (count < 0 || count > MOST)
        MPI_Abort(world, 2);
    for (int r = 0; r < n; r++) {
        counts[r] = count;
        places[r] = r * count;
    }
    warm_up();
    come_to(argv[me == 0 ? 1 : 2]);
    come_to(argv[me == 0 ? 2 : 1]);
    MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
