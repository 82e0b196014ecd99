/* host [STEP..]: loads plugins and has them do steps, "openmpi.asks" is the step "asks" of ./openmpi.so.  A plugin is
 * loaded (RTLD_LOCAL, as Python does) at its first step; "mpich!" before the dot: with RTLD_DEEPBIND too.  Built with
 * -DITSELF it is an MPI program of its own around that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#ifdef ITSELF
#include <mpi.h>
#endif

static int step(const char *word)
{
    char name[64] = "./", *dot;
    int flags = RTLD_NOW | RTLD_LOCAL;
    strncat(name, word, sizeof name - 8);
    dot = strchr(name + 2, '.');
    if (!dot)
        return 2;
    if (dot[-1] == '!') {
        flags |= RTLD_DEEPBIND;
        dot--;
    }
    strcpy(dot, ".so");
    void *plugin = dlopen(name, flags);
    void (*part)(const char *) = plugin ? (void (*)(const char *))dlsym(plugin, "part") : NULL;
    if (!part) {
        printf("%s\n", dlerror());
        return 3;
    }
    part(strchr(word, '.') + 1);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
#ifdef ITSELF
    int one = 1, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
    for (int i = 1; i < argc && !failed; i++)
        failed = step(argv[i]);
#ifdef ITSELF
    MPI_Comm copy; /* objects loaded since Init are examined when a communicator is made */
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, copy);
    MPI_Comm_free(&copy);
    MPI_Finalize();
#endif
    return failed;
}
