/* Starts MPI, loads a number of copies of a module from this folder, calls a function of each, and ends MPI. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Counted part: without dlopen, which is the loader's alone and differs from run to run. */
__attribute__((noinline)) static void *find_start(void *module)
{
    void *volatile found = dlsym(module, "module_start");
    return found;
}

static int load_modules(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "./module%d.so", i);
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        int (*start)(int) = module ? (int (*)(int))find_start(module) : NULL;
        sum += start ? start(i) - i : 0;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    int sum = load_modules(count);
    MPI_Finalize();
    return sum != count;
}
