/* first_call error|kill [PLUGIN]: the first call of MPI from its place, in this program or in a plugin, is the last. */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

int call_once(const char *how);
__attribute__((noinline)) int call_once(const char *how)
{
    int rank = -1;
    if (!strcmp(how, "error"))
        MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    kill(getpid(), SIGKILL);
    return rank;
}

int main(int argc, char **argv)
{
    void *plugin = argc > 2 ? dlopen(argv[2], RTLD_NOW) : NULL;
    int (*call)(const char *) = plugin ? (int (*)(const char *))(uintptr_t)dlsym(plugin, "call_once") : call_once;
    MPI_Init(&argc, &argv);
    return call(argv[1]);
}
