/* deaths HOW [RANK]: 10 rounds of MPI_Allreduce and 50 ms of computing, then rank RANK (default 1) ends by HOW in
 * end_here(), while the others go on with MPI_Allreduce for at most 120 s.
 *
 *   exit, _exit, quick_exit   leaves with code 3            return   returns 3 from main
 *   thread_exit               exit(3) in a thread           segv, abort, fpe, ill, sys, pipe, assert
 *   thread_segv, stack, thread_stack   in a thread; a full stack
 *   room_stack                a full stack, where the program has set a stack for handlers
 *   alarm, cpu, size          a timer's signal; RLIMIT_CPU; RLIMIT_FSIZE
 *   kill, term                kills itself by SIGKILL, by SIGTERM
 *   error                     sends to a rank that is not there: MPI ends the job
 *   well                      nobody ends: for a job that is killed from outside; RANK computes, the others wait
 *   handler                   well, and RANK has a handler of its own, which leaves with code 9: of the signal that a
 *                             third argument names by its number (SIGTERM), by exit or what a fourth one names; a
 *                             fifth one: it blocks all signals
 *   caught                    RANK causes a signal, the third argument's (segv, fpe, abort, alarm), and has a handler
 *                             of it, which leaves as `handler`'s does, by abort_mpi, or raises the signal once more
 *                             (again); a fifth argument: the handler wants information, and blocks nothing */
#include <assert.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *how;
static volatile int zero;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void compute(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        ;
}

#pragma GCC diagnostic ignored "-Winfinite-recursion"
__attribute__((noinline)) static int fill_stack(int depth)
{
    volatile char room[4096];
    room[depth % 4096] = (char)depth;
    return fill_stack(depth + 1) + room[depth % 4096];
}

static const char *way = "exit";
static void leave_in_handler(int number)
{
    if (strcmp(way, "abort_mpi") == 0)
        MPI_Abort(MPI_COMM_WORLD, 9);
    if (strcmp(way, "again") == 0) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (strcmp(way, "_exit") == 0)
        _exit(9);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(9);
    exit(9);
}

static void set_handler(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = leave_in_handler};
    way = argc > 4 ? argv[4] : way;
    if (argc > 5)
        sigfillset(&action.sa_mask);
    sigaction(argc > 3 ? atoi(argv[3]) : SIGTERM, &action, NULL);
}

static void leave_with_information(int number, siginfo_t *information, void *context)
{
    (void)information, (void)context;
    leave_in_handler(number);
}

static void catch_own(int argc, char **argv)
{
    static const int own[] = {SIGSEGV, SIGFPE, SIGABRT, SIGALRM};
    struct sigaction action = {.sa_handler = leave_in_handler};
    how = argc > 3 ? argv[3] : "segv";
    way = argc > 4 ? argv[4] : way;
    if (argc > 5) {
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        action.sa_sigaction = leave_with_information;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigaction(own[i], &action, NULL);
}

static void set_limit(int resource, rlim_t value)
{
    setrlimit(resource, &(struct rlimit){value, RLIM_INFINITY});
}

static void write_much(void)
{
    char block[4096] = {0};
    int fd = open("deaths.big", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    set_limit(RLIMIT_FSIZE, 65536);
    while (write(fd, block, sizeof block) > 0)
        ;
}

static void use_processor(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    set_limit(RLIMIT_CPU, (rlim_t)used.ru_utime.tv_sec + (rlim_t)used.ru_stime.tv_sec + 2);
    compute(60);
}

static void set_handler_stack(void)
{
    static char room[65536];
    sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
}

static int is_how(const char *name)
{
    return strcmp(how, name) == 0;
}

__attribute__((noinline)) static void end_here(void)
{
    int pipes[2], one = 1;
    if (is_how("exit") || is_how("thread_exit"))
        exit(3);
    if (is_how("_exit"))
        _exit(3);
    if (is_how("quick_exit"))
        quick_exit(3);
    if (is_how("segv") || is_how("thread_segv"))
        *(volatile int *)8 = 1;
    if (is_how("abort"))
        abort();
    if (is_how("fpe"))
        zero = 7 / zero;
    if (is_how("ill"))
        __builtin_trap();
    if (is_how("sys"))
        raise(SIGSYS);
    if (is_how("assert"))
        assert(zero == 1);
    if (is_how("room_stack"))
        set_handler_stack();
    if (is_how("stack") || is_how("thread_stack") || is_how("room_stack"))
        zero = fill_stack(0);
    if (is_how("pipe") && pipe(pipes) == 0 && close(pipes[0]) == 0 && write(pipes[1], how, 1) < 0)
        return;
    if (is_how("alarm") && alarm(1) == 0)
        compute(60);
    if (is_how("cpu"))
        use_processor();
    if (is_how("size"))
        write_much();
    if (is_how("kill"))
        kill(getpid(), SIGKILL);
    if (is_how("term"))
        kill(getpid(), SIGTERM);
    if (is_how("error"))
        MPI_Send(&one, 1, MPI_INT, 4711, 0, MPI_COMM_WORLD);
}

static void *run_thread(void *unused)
{
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    end_here();
    return unused;
}

int main(int argc, char **argv)
{
    int me, one = 1, sum, level, victim = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t thread;
    how = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (is_how("handler") && me == victim)
        set_handler(argc, argv);
    if (is_how("caught") && me == victim)
        catch_own(argc, argv);
    for (int round = 0; round < 10; round++) {
        compute(0.05);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (me == victim && is_how("return"))
        return 3;
    if (me == victim && strncmp(how, "thread_", 7) == 0 && pthread_create(&thread, NULL, run_thread, NULL) == 0)
        pthread_join(thread, NULL);
    else if (me == victim)
        end_here();
    for (double end = now() + 120; now() < end;) {
        compute(me == victim ? 0.4 : 0.01);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
