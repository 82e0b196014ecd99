/* fortran LIBRARY WORLD: loads a library of MPI's Fortran functions with RTLD_LOCAL, looks them up by dlsym, and calls
 * them.  WORLD is the value of MPI_COMM_WORLD in Fortran. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 10, BARRIERS = 3 };
typedef void (*function)();

int main(int argc, char **argv)
{
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int world = argc == 3 ? (int)strtol(argv[2], NULL, 0) : 0, rank = -1, error = -1;
    if (!library)
        return puts("no library");
    ((function)(uintptr_t)dlsym(library, "mpi_init_"))(&error);
    function rank_of = (function)(uintptr_t)dlsym(library, "mpi_comm_rank_"),
             wait = (function)(uintptr_t)dlsym(library, "mpi_barrier_");
    if (dlsym(library, "mpi_no_such_call_") || !dlerror())
        puts("but no error");
    for (int i = 0; i < RANKS; i++)
        rank_of(&world, &rank, &error);
    for (int i = 0; i < BARRIERS; i++)
        wait(&world, &error);
    printf("rank %d, error %d\n", rank, error);
    ((function)(uintptr_t)dlsym(library, "mpi_finalize_"))(&error);
    return error;
}
