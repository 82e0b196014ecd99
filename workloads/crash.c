/* Dies of a signal in crash_here().  crash HOW [own]: HOW is segv, abort, fpe, ill, raise (SIGSEGV by raise), kill
 * (SIGBUS by kill) or stack (endless recursion); with `own` it has a SIGSEGV handler of its own, which says so on
 * stdout and exits with 7; with `fork` a child does it, and the parent exits with the child's signal. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int zero;

static void own_handler(int number)
{
    (void)number;
    if (write(STDOUT_FILENO, "own handler\n", 12) < 0)
        _exit(8);
    _exit(7);
}

__attribute__((noinline)) static int crash_here(const char *how, int depth)
{
    volatile char room[4096];
    room[depth % 4096] = (char)depth;
    if (!strcmp(how, "segv"))
        *(volatile int *)8 = 1;
    else if (!strcmp(how, "abort"))
        abort();
    else if (!strcmp(how, "fpe"))
        zero = 7 / zero;
    else if (!strcmp(how, "ill"))
        __builtin_trap();
    else if (!strcmp(how, "raise"))
        raise(SIGSEGV);
    else if (!strcmp(how, "kill"))
        kill(getpid(), SIGBUS);
    else if (!strcmp(how, "stack"))
        return crash_here(how, depth + 1) + room[depth % 4096];
    return room[0];
}

int main(int argc, char **argv)
{
    const char *more = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    if (!strcmp(more, "own"))
        signal(SIGSEGV, own_handler);
    if (!strcmp(more, "fork")) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(crash_here(argv[1], 0) + 100);
        waitpid(child, &status, 0);
        MPI_Finalize();
        return WIFSIGNALED(status) ? WTERMSIG(status) : 99;
    }
    crash_here(argv[1], 0);
    MPI_Finalize();
    return 0;
}
