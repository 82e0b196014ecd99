/* Preloaded: every folder is on NFS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/vfs.h>
int statfs(const char *path, struct statfs *out)
{
    int (*real)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs");
    int failed = real(path, out);
    out->f_type = 0x6969;
    return failed;
}
