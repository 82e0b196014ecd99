/* host LIBRARY ..: loads each library with RTLD_LOCAL, looks its functions up by dlsym, and calls them.  A library that
 * has no MPI_Barrier is none of MPI: the result of its MPI_Init is printed. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 10, REDUCES = 5, BARRIERS = 3 };
typedef int (*function)();

static void *look_up(void *library, const char *name)
{
    dlerror();
    void *found = dlsym(library, name);
    const char *error = dlerror();
    if (!found != !!error)
        printf("%s: %p, but %s\n", name, found, error ? error : "no error");
    return found;
}

/* A handle: an object of Open MPI, a number of MPICH. */
static uintptr_t find_handle(void *library, const char *name, uintptr_t number)
{
    void *found = dlsym(library, name);
    return found ? (uintptr_t)found : number;
}

static void call_all(void *library)
{
    uintptr_t world = find_handle(library, "ompi_mpi_comm_world", 0x44000000),
              integer = find_handle(library, "ompi_mpi_int", 0x4c000405),
              sum = find_handle(library, "ompi_mpi_op_sum", 0x58000003);
    function rank_of = (function)look_up(library, "MPI_Comm_rank"),
             reduce = (function)look_up(library, "MPI_Allreduce"), wait = (function)look_up(library, "MPI_Barrier");
    int rank = -1, one = 1, all = 0;
    for (int i = 0; i < RANKS; i++)
        rank_of(world, &rank);
    for (int i = 0; i < REDUCES; i++)
        reduce(&one, &all, 1, integer, sum, world);
    for (int i = 0; i < BARRIERS; i++)
        wait(world);
    printf("rank %d of %d\n", rank, all);
}

int main(int argc, char **argv)
{
    void *library[8];
    for (int i = 1; i < argc; i++) {
        library[i] = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!library[i])
            return puts(dlerror());
        function init = (function)look_up(library[i], "MPI_Init");
        int result = init(NULL, NULL);
        if (look_up(library[i], "MPI_Barrier"))
            call_all(library[i]);
        else
            printf("its own: %d\n", result);
    }
    for (int i = argc; --i > 0;) {
        function end = (function)look_up(library[i], "MPI_Finalize");
        if (end)
            end();
    }
    return 0;
}
