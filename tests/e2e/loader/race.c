/* race LOADS MODULE: a thread loads and unloads a module while the main thread makes communicators.  SLOW: with a
 * dl_iterate_phdr of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int over;
static char **arguments;
static int level;

static void *load(void *unused)
{
    int (*address)(void *, void *) = NULL;
    long out;
    for (int i = 0; i < atoi(arguments[1]); i++) {
        void *module = dlopen(arguments[2], RTLD_LAZY | RTLD_LOCAL);
        if (!module || !(address = (int (*)(void *, void *))dlsym(module, "part_address")))
            puts(dlerror());
        else if (address(&level, &out) || dlclose(module))
            puts("not as it should be");
        usleep((useconds_t)(i % 16 * 20)); /* for the other thread to come between */
    }
    over = 1;
    return unused;
}

#ifdef SLOW
/* dl_iterate_phdr of a program's own: here it only takes long, so that a walk over the loaded objects that began well
 * meets a module that is being loaded. */
int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    if (!next) /* not by dlsym, which may come here */
        *(void **)&next = dlvsym(RTLD_NEXT, "dl_iterate_phdr", "GLIBC_2.2.5");
    usleep(500);
    return next(callback, data);
}
#endif

int main(int argc, char **argv)
{
    pthread_t thread;
    MPI_Comm twin;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    arguments = argv;
    pthread_create(&thread, NULL, load, NULL);
    while (!over) {
        MPI_Comm_dup(MPI_COMM_SELF, &twin);
        MPI_Comm_free(&twin);
    }
    pthread_join(thread, NULL);
    puts("all loaded");
    MPI_Finalize();
    return 0;
}
