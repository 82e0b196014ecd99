/* The descriptors of files.  A job of ten thousand ranks has more files than a process may have open: so the first ones
 * keep their descriptor, as many as there are to have, and the others open it anew for each look. */
#include "trace/reader/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS 64u /* descriptors that are left for everything else */

/* Protects files that are opened anew: two threads may look at one file. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static atomic_size_t kept; /* descriptors that stay open, of all files; several threads may read */

/* Number of files that may keep their descriptors if `more` are added.  The usual soft limit protects programs that
 * use select(): it is raised. */
static size_t most_kept(size_t more)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 0;
    if (limit.rlim_cur < limit.rlim_max && atomic_load(&kept) + more + OTHERS >= limit.rlim_cur) {
        struct rlimit raised = {limit.rlim_max, limit.rlim_max};
        if (!setrlimit(RLIMIT_NOFILE, &raised))
            limit = raised;
    }
    if (limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return limit.rlim_cur > 2 * OTHERS ? (size_t)limit.rlim_cur - OTHERS : (size_t)limit.rlim_cur / 2;
}

static int open_path(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void trc_expect(size_t files)
{
    size_t most = most_kept(files);
    int low = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int high = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, (int)(files < most ? files : most)) : -1;
    if (high >= 0)
        close(high);
    if (low >= 0)
        close(low);
}

struct trc_descriptor *trc_descriptor_open(const char *path)
{
    struct trc_descriptor *descriptor = calloc(1, sizeof *descriptor);
    struct stat status;
    if (!descriptor)
        return NULL;
    size_t most = most_kept(0);
    descriptor->kept = atomic_fetch_add(&kept, 1) < most;
    if (!descriptor->kept)
        atomic_fetch_sub(&kept, 1);
    descriptor->fd = open_path(path);
    if (descriptor->fd >= 0 && !fstat(descriptor->fd, &status)) {
        descriptor->device = status.st_dev;
        descriptor->inode = status.st_ino;
        descriptor->held = 1;
        return descriptor;
    }
    int error = errno;
    trc_descriptor_close(descriptor);
    errno = error;
    return NULL;
}

void trc_descriptor_close(struct trc_descriptor *descriptor)
{
    if (!descriptor)
        return;
    if (descriptor->fd >= 0)
        close(descriptor->fd);
    if (descriptor->kept)
        atomic_fetch_sub(&kept, 1);
    free(descriptor);
}

/* Opens the file that it was at first; the lock is held. */
static void open_again(const struct trc_file *file)
{
    struct trc_descriptor *descriptor = file->descriptor;
    struct stat status;
    int fd = open_path(file->path);
    if (fd >= 0 && !fstat(fd, &status) && status.st_dev == descriptor->device && status.st_ino == descriptor->inode)
        descriptor->fd = fd;
    else if (fd >= 0)
        close(fd);
}

int trc_file_hold(const struct trc_file *file)
{
    struct trc_descriptor *descriptor = file->descriptor;
    if (descriptor->kept)
        return descriptor->fd;
    pthread_mutex_lock(&lock);
    descriptor->held++;
    if (descriptor->fd < 0)
        open_again(file);
    int fd = descriptor->fd;
    pthread_mutex_unlock(&lock);
    return fd;
}

void trc_file_release(const struct trc_file *file)
{
    struct trc_descriptor *descriptor = file->descriptor;
    if (descriptor->kept)
        return;
    pthread_mutex_lock(&lock);
    if (--descriptor->held == 0 && descriptor->fd >= 0) {
        close(descriptor->fd);
        descriptor->fd = -1;
    }
    pthread_mutex_unlock(&lock);
}

bool trc_file_reopen(const struct trc_file *file)
{
    struct trc_descriptor *descriptor = file->descriptor;
    int fd = open_path(file->path);
    if (fd < 0)
        return true; /* file is gone: an open one still is open */
    struct stat status;
    if (!fstat(fd, &status)) {
        descriptor->device = status.st_dev;
        descriptor->inode = status.st_ino;
    }
    bool done = descriptor->fd < 0 || dup3(fd, descriptor->fd, O_CLOEXEC) >= 0;
    if (descriptor->fd < 0)
        descriptor->fd = fd;
    else
        close(fd);
    return done;
}
