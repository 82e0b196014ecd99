/* changed ITERATIONS PERCENT [RANK [sleep|clock|sums]]: three pieces of work in each iteration; `solve`, the longest,
 * takes a given number of percent more, on that rank (-1, the default: on all).  For two runs that are compared: what
 * differs between them is known.
 *
 *   sleep  a piece is slept, whatever else the machine does: SOLVE or OTHERS
 *   clock  it is as long by the clock, without rest
 *   sums   it is a fixed number of additions; the machine decides how long they take
 *
 * CHANGED_TOGETHER=N:FILE: its ranks begin when N have come, ranks of other runs among them: each appends a byte.
 *
 * With -DMOVED it is the program after an edit: other lines, a function more, one more call in the loop. */
#include "truth.h"
#include <mpi.h>
#include <stdbool.h>
#include <sys/stat.h>

#define SOLVE  0.003
#define OTHERS 0.0003
#define SUMS   100000000 /* a second, or about */

static const char *mode = "sleep";
static volatile double kept;

static void begin_together(void)
{
    const char *together = getenv("CHANGED_TOGETHER");
    char *path;
    if (!together)
        return;
    long ranks = strtol(together, &path, 10);
    int file = open(path + 1, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct stat come = {0};
    if (write(file, "", 1) == 1)
        while (fstat(file, &come) == 0 && come.st_size < ranks)
            truth_sleep(0.001);
    close(file);
}

static void work(double seconds)
{
    if (strcmp(mode, "sleep") == 0) {
        truth_sleep(seconds);
    } else if (strcmp(mode, "clock") == 0) {
        for (double end = truth_now() + seconds; truth_now() < end;)
            ;
    } else {
        double sum = 0;
        for (long i = (long)(SUMS * seconds); i > 0; i--)
            sum += (double)i;
        kept = sum;
    }
}

#ifdef MOVED
/* A function that was not there before, and moves all that is below it. */
static void log_progress(int i)
{
    int any = i, all;
    MPI_Reduce(&any, &all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
}
#endif

static void exchange(int me, int n)
{
    int mine = me, got, to = (me + 1) % n, from = (me + n - 1) % n;
    MPI_Comm all = MPI_COMM_WORLD;
    work(OTHERS);
    MPI_Sendrecv(&mine, 1, MPI_INT, to, 1, &got, 1, MPI_INT, from, 1, all, MPI_STATUS_IGNORE); /* line: exchange */
}

static void solve(double more)
{
    double one = 1, sum;
    work(SOLVE * (1 + more));
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line: solve */
}

static void finish(void)
{
    work(OTHERS);
    MPI_Barrier(MPI_COMM_WORLD); /* line: finish */
}

int main(int argc, char **argv)
{
    int me, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int iterations = argc > 1 ? atoi(argv[1]) : 0, rank = argc > 3 ? atoi(argv[3]) : -1;
    double more = argc > 2 && (rank < 0 || rank == me) ? atof(argv[2]) / 100 : 0;
    mode = argc > 4 ? argv[4] : mode;
    begin_together();
    for (int i = 0; i < iterations; i++) {
        exchange(me, n);
        solve(more);
#ifdef MOVED
        log_progress(i);
#endif
        finish();
    }
    MPI_Finalize();
    return iterations < 1;
}
