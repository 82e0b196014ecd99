/* A program without MPI that has a dl_iterate_phdr of its own, as databases and async runtimes have, which asks for the
 * system's by dlsym; and other functions of libc, which do the same. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
static int walks;

int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
    walks++;
    return NEXT(dl_iterate_phdr)(callback, data);
}

int dladdr(const void *address, Dl_info *info)
{
    return NEXT(dladdr)(address, info);
}

unsigned long getauxval(unsigned long type)
{
    return NEXT(getauxval)(type);
}

static int count(struct dl_phdr_info *info, size_t size, void *objects)
{
    (void)info, (void)size;
    ++*(int *)objects;
    return 0;
}

int main(void)
{
    int objects = 0;
    dl_iterate_phdr(count, &objects);
    printf("%d walk, %s\n", walks, objects > 2 ? "objects found" : "nothing found");
    return 0;
}
