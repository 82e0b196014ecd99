/* selfcall rank|iprobe|allreduce|pt2pt [calls]: one rank makes that many (default 1000000) calls that do next to
 * nothing, so that what a tracer adds stands out.  Prints the median and the least of 50 parts, ns a call: for `make
 * bench`. pt2pt: MPI_Irecv, MPI_Isend of 8 bytes to itself, MPI_Waitall: three calls. Truth: the calls that it prints
 * as "calls"; 8 bytes each way per MPI_Allreduce, MPI_Isend and MPI_Irecv. */
#include "truth.h"
#include <mpi.h>
#include <unistd.h>

#define PARTS 50

static void rank_call(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}
static void iprobe(void)
{
    int flag;
    MPI_Iprobe(0, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
static void allreduce(void)
{
    double in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}
static void pt2pt(void)
{
    char out[8] = {0}, in[8];
    MPI_Request r[2];
    MPI_Irecv(in, 8, MPI_CHAR, 0, 5, MPI_COMM_SELF, &r[0]);
    MPI_Isend(out, 8, MPI_CHAR, 0, 5, MPI_COMM_SELF, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

static const struct mode {
    const char *name;
    void (*body)(void);
    int calls;
} modes[] = {{"rank", rank_call, 1}, {"iprobe", iprobe, 1}, {"allreduce", allreduce, 1}, {"pt2pt", pt2pt, 3}};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void answer(const struct mode *m, long times, int n)
{
    truth_frame(n);
    if (m->body == rank_call)
        truth_each(n, "MPI_Comm_rank", times, 0, 0);
    if (m->body == iprobe)
        truth_each(n, "MPI_Iprobe", times, 0, 0);
    if (m->body == allreduce)
        truth_each(n, "MPI_Allreduce", times, times * 8, times * 8);
    if (m->body == pt2pt) {
        truth_each(n, "MPI_Waitall", times, 0, 0);
        for (int r = 0; r < n; r++)
            truth_message(r, "MPI_Isend", r, "MPI_Irecv", times, 8);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    const struct mode *m = NULL;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (argc < 2 ? i == 0 : strcmp(argv[1], modes[i].name) == 0)
            m = &modes[i];
    if (m == NULL) {
        fprintf(stderr, "usage: selfcall rank|iprobe|allreduce|pt2pt [calls]\n");
        return 64;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    long calls = argc > 2 ? atol(argv[2]) : 1000000, each = calls / PARTS / m->calls;
    each = each > 0 ? each : 1;
    double part[PARTS];
    for (long i = 0; i < each; i++)
        m->body();
    (void)getppid(); /* markers for strace at the begin and end of the parts */
    for (int p = 0; p < PARTS; p++) {
        double begin = truth_now();
        for (long i = 0; i < each; i++)
            m->body();
        part[p] = (truth_now() - begin) * 1e9 / (double)(each * m->calls);
    }
    (void)getppid();
    qsort(part, PARTS, sizeof part[0], by_value);
    if (me == 0) {
        printf("{\"mode\": \"%s\", \"calls\": %ld, \"median_ns\": %.2f, \"min_ns\": %.2f}\n", m->name,
               each * (PARTS + 1) * m->calls, part[PARTS / 2], part[0]);
        answer(m, each * (PARTS + 1), n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
