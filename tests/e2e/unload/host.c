/* host TIMES PLUGIN..: loads each, calls it TIMES times, prints where it was, and unloads it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int use_plugin(const char *path, int times)
{
    void *plugin = dlopen(path, RTLD_NOW);
    int (*run)(int) = plugin ? (int (*)(int))(uintptr_t)dlsym(plugin, "plugin_run") : NULL;
    if (!run)
        return fprintf(stderr, "%s\n", dlerror());
    printf("%p\n", (void *)(uintptr_t)run);
    int result = run(times);
    return dlclose(plugin) + (result != 1);
}

int main(int argc, char **argv)
{
    int bad = 0;
    MPI_Init(&argc, &argv);
    for (int i = 2; i < argc; i++)
        bad |= use_plugin(argv[i], atoi(argv[1]));
    MPI_Finalize();
    return bad;
}
