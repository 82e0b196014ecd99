/* stencil [seconds [late rank [file]]]: heat on a plate, in blocks of SIDE x SIDE cells a rank, for that long (default
 * 10 s), or until there is that file.
 * The demo: a common program with a common trouble.  Each step every rank exchanges its four edges with its neighbours
 * (MPI_Irecv, MPI_Isend, MPI_Waitall; columns by a vector datatype; MPI_PROC_NULL at the rim), computes, and all agree
 * on the largest change by MPI_Allreduce of 2 doubles, which also says when to stop.  The late rank (default: the last;
 * -1: none) takes 4 ms longer.
 * Truth, for S steps (rank 0 tells): per rank 4S MPI_Irecv, 4S MPI_Isend of SIDE x 8 bytes to each neighbour that
 * exists, S MPI_Waitall, S MPI_Allreduce of 16 bytes. */
#include "truth.h"
#include <math.h>
#include <mpi.h>
#include <unistd.h>

#define SIDE 256
#define WIDE (SIDE + 2)
#define LATE 0.004

static double plate[2][WIDE][WIDE];

static double compute(int now)
{
    double change = 0;
    for (int y = 1; y <= SIDE; y++)
        for (int x = 1; x <= SIDE; x++) {
            const double(*old)[WIDE] = (const double(*)[WIDE])plate[now];
            double next = 0.25 * (old[y - 1][x] + old[y + 1][x] + old[y][x - 1] + old[y][x + 1]);
            change = fmax(change, fabs(next - old[y][x]));
            plate[!now][y][x] = next;
        }
    return change;
}

static void exchange(int now, const int *neighbour, MPI_Datatype column, MPI_Comm grid)
{
    MPI_Request r[8];
    double(*p)[WIDE] = plate[now];
    MPI_Irecv(&p[0][1], SIDE, MPI_DOUBLE, neighbour[0], 1, grid, &r[0]);
    MPI_Irecv(&p[SIDE + 1][1], SIDE, MPI_DOUBLE, neighbour[1], 0, grid, &r[1]);
    MPI_Irecv(&p[1][0], 1, column, neighbour[2], 3, grid, &r[2]);
    MPI_Irecv(&p[1][SIDE + 1], 1, column, neighbour[3], 2, grid, &r[3]);
    MPI_Isend(&p[1][1], SIDE, MPI_DOUBLE, neighbour[0], 0, grid, &r[4]);
    MPI_Isend(&p[SIDE][1], SIDE, MPI_DOUBLE, neighbour[1], 1, grid, &r[5]);
    MPI_Isend(&p[1][1], 1, column, neighbour[2], 2, grid, &r[6]);
    MPI_Isend(&p[1][SIDE], 1, column, neighbour[3], 3, grid, &r[7]);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

static void answer(int n, const int *dims, long steps)
{
    truth_frame(n);
    truth_each(n, "MPI_Dims_create", 1, 0, 0);
    truth_each(n, "MPI_Cart_create", 1, 0, 0);
    truth_each(n, "MPI_Comm_set_name", 1, 0, 0);
    truth_each(n, "MPI_Cart_shift", 2, 0, 0);
    truth_each(n, "MPI_Type_vector", 1, 0, 0);
    truth_each(n, "MPI_Type_commit", 1, 0, 0);
    truth_each(n, "MPI_Type_free", 1, 0, 0);
    truth_each(n, "MPI_Comm_free", 1, 0, 0);
    truth_each(n, "MPI_Waitall", steps, 0, 0);
    truth_each(n, "MPI_Allreduce", steps, steps * 16, steps * 16);
    for (int r = 0; r < n; r++) {
        int row = r / dims[1], col = r % dims[1];
        const int to[4] = {row > 0 ? r - dims[1] : -1, row + 1 < dims[0] ? r + dims[1] : -1, col > 0 ? r - 1 : -1,
                           col + 1 < dims[1] ? r + 1 : -1};
        for (int k = 0; k < 4; k++) {
            if (to[k] >= 0) {
                truth_message(r, "MPI_Isend", to[k], "MPI_Irecv", steps, SIDE * 8);
            } else { /* the rim: both calls are made, nothing moves */
                truth_call(r, "MPI_Isend", steps, 0, 0);
                truth_call(r, "MPI_Irecv", steps, 0, 0);
            }
        }
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0, dims[2] = {0, 0}, open[2] = {0, 0}, neighbour[4];
    MPI_Comm grid;
    MPI_Datatype column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double seconds = argc > 1 ? atof(argv[1]) : 10;
    int late = argc > 2 ? atoi(argv[2]) : n - 1;
    const char *enough = argc > 3 ? argv[3] : NULL;

    MPI_Dims_create(n, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open, 0, &grid);
    MPI_Comm_set_name(grid, "grid");
    MPI_Cart_shift(grid, 0, 1, &neighbour[0], &neighbour[1]);
    MPI_Cart_shift(grid, 1, 1, &neighbour[2], &neighbour[3]);
    MPI_Type_vector(SIDE, 1, WIDE, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int x = 0; x < WIDE; x++)
        plate[0][0][x] = plate[1][0][x] = 100.0; /* one hot edge */

    long steps = 0;
    double begin = truth_now(), agreed[2] = {0, 0};
    do {
        exchange((int)(steps % 2), neighbour, column, grid);
        double mine[2] = {compute((int)(steps % 2)),
                          truth_now() - begin > seconds || (enough && !access(enough, F_OK))};
        if (me == late)
            truth_sleep(LATE); /* delay of a rank that also writes a log */
        MPI_Allreduce(mine, agreed, 2, MPI_DOUBLE, MPI_MAX, grid);
        steps++;
    } while (agreed[1] == 0);
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);

    if (me == 0) {
        printf("stencil: %ld steps, last change %.3g\n", steps, agreed[0]);
        answer(n, dims, steps);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
