/* pingpong [rounds [bytes]]: ranks 0 and 1 exchange a message to and fro (default 100000 times 8 bytes); `bytes` may be
 * `sizes`: then 1, 2, 4 ... 1 MiB, rounds / 100 times each.  Other ranks wait in the last barrier.
 * Prints (rank 0) the median and the least of 50 parts, of half a round trip in ns: for `make bench`.
 * Truth: that many MPI_Send and MPI_Recv on ranks 0 and 1, and half a part more to warm up. */
#include "truth.h"
#include <mpi.h>

#define PARTS   50
#define LARGEST (1 << 20)

static int me;
static char *data;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double play(long rounds, int bytes)
{
    double begin = truth_now();
    for (long i = 0; i < rounds; i++) {
        if (me == 0) {
            MPI_Send(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(data, bytes, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (me == 1) {
            MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
        }
    }
    return (truth_now() - begin) * 1e9 / 2;
}

static void one_size(long rounds, int bytes)
{
    double part[PARTS];
    long each = rounds / PARTS > 0 ? rounds / PARTS : 1;
    play(each / 2 + 1, bytes);
    for (int i = 0; i < PARTS; i++)
        part[i] = play(each, bytes) / (double)each;
    qsort(part, PARTS, sizeof part[0], by_value);
    if (me == 0) {
        printf("{\"bytes\": %d, \"median_ns\": %.2f, \"min_ns\": %.2f}\n", bytes, part[PARTS / 2], part[0]);
        long all = each * PARTS + each / 2 + 1;
        truth_message(0, "MPI_Send", 1, "MPI_Recv", all, bytes);
        truth_message(1, "MPI_Send", 0, "MPI_Recv", all, bytes);
    }
}

int main(int argc, char **argv)
{
    int n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    int sizes = argc > 2 && strcmp(argv[2], "sizes") == 0, bytes = argc > 2 ? atoi(argv[2]) : 8;
    data = calloc(1, LARGEST);
    if (n > 1 && sizes)
        for (bytes = 1; bytes <= LARGEST; bytes *= 2)
            one_size(rounds / 100, bytes);
    else if (n > 1)
        one_size(rounds, bytes < LARGEST ? bytes : LARGEST);
    MPI_Barrier(MPI_COMM_WORLD);
    free(data);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", 1, 0, 0);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
