/* machine MODE: rank 1 takes longer between two calls, for a reason that the kernel counts; the others do the same work
 * as ever.  Each rank prints its own readings, around its own work:
 *
 *     rank 1 times 40 seconds 2.5 cpu 0.5 system 0.1 queued 2.0 faults 0 read 0
 *
 *   queued   another process runs on its core
 *   reads    it reads a file past the cache
 *   faults   it maps memory, touches it and gives it back, for as long as it has worked
 *   work     it works four times as long */
#include "truth.h"
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define TIMES 100
#define WORK  50000000 /* turns of a loop: some 20 ms */
#define READS 12       /* blocks allocated each time */
#define BLOCK (8u << 20)
#define PAGES (32u << 20)

static int me;

struct counts {
    double seconds, cpu, system, queued, faults, read;
};

/* ---- counts of the kernel for this thread ------------------------------------------------------------------------ */

static struct counts counts_now(void)
{
    struct counts now = {.seconds = truth_now()};
    struct rusage used;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");
    if (!f || fscanf(f, "%*f %lf", &now.queued) != 1)
        now.queued = 0;
    if (f)
        fclose(f);
    now.queued /= 1e9;
    struct timespec cpu = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    now.cpu = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    getrusage(RUSAGE_THREAD, &used);
    now.system = (double)used.ru_stime.tv_sec + (double)used.ru_stime.tv_usec / 1e6;
    now.faults = (double)(used.ru_minflt + used.ru_majflt);
    char line[128];
    f = fopen("/proc/self/io", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "read_bytes: %lf", &now.read);
    if (f)
        fclose(f);
    return now;
}

static void add_counts(struct counts *sum, const struct counts *from, const struct counts *to)
{
    sum->seconds += to->seconds - from->seconds;
    sum->cpu += to->cpu - from->cpu;
    sum->system += to->system - from->system;
    sum->queued += to->queued - from->queued;
    sum->faults += to->faults - from->faults;
    sum->read += to->read - from->read;
}

/* ---- the reasons ---- */

/* Binds to one of the allowed cores, rank by rank. */
static void take_core(int rank)
{
    cpu_set_t all, one;
    int nth = 0;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) || CPU_COUNT(&all) < 2)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && nth++ == rank % CPU_COUNT(&all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* Starts a process that runs on the same core for as long as this one lives, and gets more of it: so this one waits
 * longer than the others do on a machine that has other things to do. */
static void start_burner(void)
{
    pid_t parent = getpid();
    if (fork() != 0) {
        if (nice(5) < 0)
            fprintf(stderr, "machine: it cannot be nicer\n");
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        for (volatile int i = 0; i < 100000; i++)
            ;
    _exit(0);
}

static int open_file(char *block)
{
    char name[64];
    snprintf(name, sizeof name, "machine.%d", (int)getpid());
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    memset(block, 1, BLOCK);
    if (fd < 0 || write(fd, block, BLOCK) != BLOCK || fsync(fd))
        return -1;
    close(fd);
    fd = open(name, O_RDONLY | O_DIRECT);
    unlink(name);
    return fd;
}

static void touch_memory(void)
{
    char *memory = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    madvise(memory, PAGES, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i += 4096)
        ((volatile char *)memory)[i] = 1;
    munmap(memory, PAGES);
}

static void compute(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* line: barrier */
}

static void meet(void)
{
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* line: meet */
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "work";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    take_core(me);
    bool queued = me == 1 && strcmp(mode, "queued") == 0, reads = me == 1 && strcmp(mode, "reads") == 0;
    bool faults = me == 1 && strcmp(mode, "faults") == 0, works = me == 1 && strcmp(mode, "work") == 0;
    char *block = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    int fd = reads ? open_file(block) : -1;
    if (queued)
        start_burner();
    struct counts sum = {0};
    for (int i = 0; i < TIMES; i++) {
        barrier();
        struct counts before = counts_now();
        compute(works ? 4 * WORK : WORK);
        double computed = truth_now() - before.seconds;
        for (int k = 0; reads && k < READS; k++)
            if (pread(fd, block, BLOCK, 0) != BLOCK)
                fprintf(stderr, "machine: it cannot read past the cache\n"), MPI_Abort(MPI_COMM_WORLD, 1);
        while (faults && truth_now() - before.seconds < 2 * computed)
            touch_memory();
        struct counts after = counts_now();
        add_counts(&sum, &before, &after);
        meet();
    }
    printf("rank %d times %d seconds %.6f cpu %.6f system %.6f queued %.6f faults %.0f read %.0f\n", me, TIMES,
           sum.seconds, sum.cpu, sum.system, sum.queued, sum.faults, sum.read);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
