/* Waits of a blocked thread, by the kernel: the path that it opens, its standard input, the holder of a lock. */
#include "interpose/base/procfs.h"
#include "tests/support/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char fifo[] = "/tmp/hpctop-procfs-XXXXXX/fifo", locked[64];
static pid_t holder;
static bool of_open_file; /* the lock is one of F_OFD_SETLKW, else of flock */
static int feed;          /* the end of standard input's pipe that is written to */
static atomic_uint reader;

static void *open_fifo(void *unused)
{
    reader = (unsigned)gettid();
    close(open(fifo, O_RDONLY));
    return unused;
}

static void *read_input(void *unused)
{
    char byte;
    reader = (unsigned)gettid();
    CHECK(read(STDIN_FILENO, &byte, 1) == 1, "read");
    return unused;
}

static void take(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (of_open_file)
        fcntl(fd, F_OFD_SETLKW, &lock);
    else
        flock(fd, LOCK_EX);
}

/* Another process locks the file, and this one waits for that. */
static void lock_elsewhere(void)
{
    int ready[2];
    char byte;
    CHECK(!pipe(ready) && (holder = fork()) >= 0, "fork");
    if (!holder) {
        take(open(locked, O_CREAT | O_RDWR, 0600));
        _exit(write(ready[1], "", 1) == 1 ? pause() : 1);
    }
    CHECK(read(ready[0], &byte, 1) == 1, "read");
}

static void *lock_file(void *unused)
{
    int fd = open(locked, O_RDWR);
    reader = (unsigned)gettid();
    take(fd);
    close(fd);
    return unused;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock_mutex(void *unused)
{
    (void)unused;
    reader = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *lock_for_long(void *unused)
{
    const struct timespec until = {.tv_sec = time(NULL) + 60};
    (void)unused;
    reader = (uint32_t)syscall(SYS_gettid);
    if (!pthread_mutex_timedlock(&mutex, &until))
        pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Whether the thread that runs `run` is found waiting for `expected` within 10 s. */
static void waits_for(void *(*run)(void *), const char *expected)
{
    pthread_t thread;
    char on[700] = "";
    reader = 0;
    CHECK(!pthread_create(&thread, NULL, run, NULL), "thread");
    for (int i = 0; i < 1000 && !strstr(on, expected); i++) {
        struct ipo_task task;
        usleep(10000);
        if (reader && ipo_task_read(reader, &task))
            ipo_task_on(&task, on, sizeof on);
    }
    CHECK(strstr(on, expected), "'%s' lacks '%s'", on, expected);
    if (run == open_fifo)
        close(open(fifo, O_WRONLY));
    else if (run == lock_mutex || run == lock_for_long)
        CHECK(!pthread_mutex_unlock(&mutex) && (run == lock_mutex) == !!strstr(on, "held"), "'%s'", on);
    else if (run == lock_file)
        CHECK(!kill(holder, SIGKILL) && waitpid(holder, NULL, 0) == holder, "kill");
    else
        CHECK(write(feed, "", 1) == 1, "write");
    pthread_join(thread, NULL);
}

/* Locks a mutex: a thread that waits for it with a limit names no holder. */
static void hold_mutex(void)
{
    char expected[80];
    pthread_mutex_lock(&mutex);
    snprintf(expected, sizeof expected, "futex(), a lock held by thread %d", (int)syscall(SYS_gettid));
    waits_for(lock_mutex, expected);
    pthread_mutex_lock(&mutex);
    waits_for(lock_for_long, "futex()");
}

int main(void)
{
    char expected[160], *end = strrchr(fifo, '/');
    int ends[2];
    *end = 0;
    CHECK(mkdtemp(fifo), "folder");
    *end = '/';
    CHECK(!mkfifo(fifo, 0600) && !pipe(ends) && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO, "pipes");
    feed = ends[1];
    snprintf(expected, sizeof expected, "open() of %s", fifo);
    waits_for(open_fifo, expected);
    waits_for(read_input, ", its standard input");
    snprintf(locked, sizeof locked, "%s.lock", fifo);
    lock_elsewhere();
    snprintf(expected, sizeof expected, "flock() on %s, held by process %d", locked, (int)holder);
    waits_for(lock_file, expected);
    of_open_file = true;
    lock_elsewhere();
    snprintf(expected, sizeof expected, "fcntl() on %s, whose holder /proc/locks does not tell", locked);
    waits_for(lock_file, expected);
    hold_mutex();
    unlink(locked);
    unlink(fifo);
    *end = 0;
    rmdir(fifo);
    return check_result();
}
