/* Loads the libcupti that it is given, and tells libtrace.so that CUDA is up, as the driver would. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 2 || !dlopen(argv[1], RTLD_NOW)) {
        puts(dlerror());
        return 2;
    }
    int (*tell)(void) = (int (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "InitializeInjection");
    if (!tell || tell() != 1)
        return 3;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    puts("fine");
    return 0;
}
