/* forks MODULE: forks while libtrace.so walks over the loaded objects.  It finds slots of the module that are
 * read-only, so that mprotect, which takes long here, is called inside the walk.  The child loads something. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int inside, slow;

int mprotect(void *at, size_t bytes, int protection)
{
    if (slow && syscall(SYS_gettid) != getpid()) {
        inside = 1;
        usleep(300000);
    }
    return (int)syscall(SYS_mprotect, at, bytes, protection);
}

static int count(struct dl_phdr_info *info, size_t size, void *objects)
{
    (void)info, (void)size;
    ++*(int *)objects;
    return 0;
}

int main(int argc, char **argv)
{
    int status, objects = 0;
    MPI_Init(&argc, &argv);
    slow = 1;
    if (!dlopen(argv[1], RTLD_NOW))
        return 3;
    for (int i = 0; i < 2000 && !inside; i++) /* constant without libtrace.so */
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        dl_iterate_phdr(count, &objects);
        _exit(objects < 2);
    }
    waitpid(child, &status, 0);
    printf("the child: %s\n", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "loaded" : "hangs");
    MPI_Finalize();
    return 0;
}
