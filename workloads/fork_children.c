/* fork_children: each rank makes children of every kind: fork + exit, fork + _exit, fork + MPI_Comm_rank + _exit, fork
 * + exec of /bin/true, system(), posix_spawn, and a raw clone; between them MPI_Allreduce of 8 bytes. Truth: only what
 * the parents call: KINDS MPI_Allreduce, one MPI_Barrier; one trace file a rank. */
#include "truth.h"
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT, QUICK_EXIT, CALLS_MPI, EXEC, SYSTEM, SPAWN, CLONE, KINDS };
extern char **environ;

static void child(int kind)
{
    int rank;
    switch (kind) {
    case EXIT:
        exit(0);
    case CALLS_MPI:
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        break;
    case EXEC:
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    default:
        break;
    }
    _exit(0);
}

/* Makes one child and waits for it; returns its exit status. */
static int run(int kind)
{
    int status = -1;
    pid_t pid;
    char *argv[] = {"true", NULL};
    fflush(NULL);
    switch (kind) {
    case SYSTEM:
        return system("/bin/true");
    case SPAWN:
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ) != 0)
            return -1;
        break;
    case CLONE:
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        break;
    default:
        pid = fork();
        break;
    }
    if (pid == 0)
        child(kind);
    if (pid > 0)
        waitpid(pid, &status, 0);
    return status;
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double one = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int kind = 0; kind < KINDS; kind++) {
        int status = run(kind);
        if (status != 0)
            fprintf(stderr, "fork_children: child of kind %d ended with %d\n", kind, status);
        bad |= status != 0;
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Allreduce", KINDS, KINDS * 8, KINDS * 8);
        truth_each(n, "MPI_Barrier", 1, 0, 0);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
