/* loops MODE: calls in the order in which well-known codes make them, without their arithmetic, on any number of ranks.
 * How often the time loop goes round is what the program prints, and the truth:
 *
 *   cg      as NPB CG: an untimed round, then ROUNDS; in each 25 steps of messages with partners, sums by messages too
 *   mg      as NPB MG: ROUNDS V-cycles over 4 grids, halo in 3 directions on each, a norm at the begin and the end
 *   hpcg    as HPCG: 2 sets of ROUNDS conjugate gradient steps, in each a V-cycle with halos and 3 sums
 *   lulesh  as LULESH: ROUNDS steps of a smallest time step over all, and three halos
 *   phases  as HPCC: ROUNDS tests of 1 ms, with a barrier before each; one in the middle has 200 sums of 2 ms
 *   md      as LAMMPS: ROUNDS steps of forward and reverse halos; new neighbours every 10, output every 20 steps */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 60, INNER = 25, GRIDS = 4 };
static int me, n;
static double out[64], in[64];

/* Neighbours of a ring, in one direction. */
static void halo_of(int stride, int numbers)
{
    MPI_Request request[2];
    int up = (me + stride) % n, down = (me + n - stride % n) % n;
    MPI_Irecv(in, numbers, MPI_DOUBLE, down, stride, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, numbers, MPI_DOUBLE, up, stride, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}
static void halo(int stride)
{
    halo_of(stride, 64);
}

static double sum_over_all(double value)
{
    double sum;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* A sum by messages with partners, as NPB CG has it. */
static void sum_by_messages(void)
{
    for (int bit = 1; bit < n; bit *= 2) {
        MPI_Request request;
        MPI_Irecv(in, 1, MPI_DOUBLE, (me + n - bit) % n, 7, MPI_COMM_WORLD, &request);
        MPI_Send(out, 1, MPI_DOUBLE, (me + bit) % n, 7, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void conjugate_gradient(void)
{
    sum_by_messages();
    for (int i = 0; i < INNER; i++) {
        halo(1);
        sum_by_messages();
        sum_by_messages();
    }
    halo(1);
    sum_by_messages();
}

static void cg(void)
{
    conjugate_gradient();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        conjugate_gradient();
        sum_by_messages();
        sum_by_messages();
    }
}

/* Multigrid: each coarser grid has a quarter of the numbers on each side. */
static void halos(int grid)
{
    for (int direction = 1; direction <= 3; direction++)
        halo_of(direction, 1 << 2 * grid);
}

static void v_cycle(void)
{
    for (int grid = GRIDS - 1; grid > 0; grid--)
        halos(grid);
    for (int grid = 0; grid < GRIDS; grid++)
        halos(grid);
}

static void mg(void)
{
    sum_over_all(1);
    for (int i = 0; i < ROUNDS; i++) {
        v_cycle();
        halos(GRIDS - 1); /* halos of the residual */
    }
    sum_over_all(1);
}

static void hpcg(void)
{
    for (int set = 0; set < 2; set++) {
        sum_over_all(1);
        for (int i = 0; i < ROUNDS; i++) {
            for (int grid = 0; grid < GRIDS; grid++)
                halo(1);
            sum_over_all(1);
            halo(2);
            sum_over_all(2);
            sum_over_all(3);
        }
    }
}

static void lulesh(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        double mine = 1, least;
        MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
        halo(1);
        halo(2);
        halo(3);
    }
    MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

static void forward(void)
{
    for (int direction = 1; direction <= 3; direction++)
        MPI_Sendrecv(out, 8, MPI_DOUBLE, (me + direction) % n, 1, in, 8, MPI_DOUBLE, (me + n - direction % n) % n, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void reverse(void)
{
    for (int direction = 3; direction >= 1; direction--)
        MPI_Sendrecv(out, 8, MPI_DOUBLE, (me + n - direction % n) % n, 2, in, 8, MPI_DOUBLE, (me + direction) % n, 2,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void md(void)
{
    for (int i = 1; i <= ROUNDS; i++) {
        if (i % 10 == 0) {
            sum_over_all(1); /* whether somebody has moved too far */
            halo(1);
            halo(2);
        } else {
            forward();
        }
        reverse();
        if (i % 20 == 0)
            sum_over_all(2);
    }
}

static void phases(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(1000);
        for (int k = 0; i == ROUNDS / 2 && k < 200; k++) {
            usleep(2000);
            sum_over_all(k);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        int rounds;
    } modes[] = {{"cg", cg, ROUNDS},         {"mg", mg, ROUNDS}, {"hpcg", hpcg, 2 * ROUNDS},
                 {"lulesh", lulesh, ROUNDS}, {"md", md, ROUNDS}, {"phases", phases, ROUNDS}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (argc > 1 && strcmp(modes[i].name, argv[1]) == 0) {
            modes[i].run();
            if (me == 0)
                printf("%s: %d iterations\n", modes[i].name, modes[i].rounds);
        }
    MPI_Finalize();
    return argc < 2;
}
