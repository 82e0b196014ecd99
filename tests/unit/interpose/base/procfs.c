/* What a blocked thread waits for, by the kernel: the path that it opens, and its standard input. */
#include "interpose/base/procfs.h"
#include "tests/support/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fifo[] = "/tmp/hpctop-procfs-XXXXXX/fifo";
static int feed; /* the end of standard input's pipe that is written to */
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
    else
        CHECK(write(feed, "", 1) == 1, "write");
    pthread_join(thread, NULL);
}

int main(void)
{
    char expected[100], *end = strrchr(fifo, '/');
    int ends[2];
    *end = 0;
    CHECK(mkdtemp(fifo), "folder");
    *end = '/';
    CHECK(!mkfifo(fifo, 0600) && !pipe(ends) && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO, "pipes");
    feed = ends[1];
    snprintf(expected, sizeof expected, "open() of %s", fifo);
    waits_for(open_fifo, expected);
    waits_for(read_input, ", its standard input");
    unlink(fifo);
    *end = 0;
    rmdir(fifo);
    return check_result();
}
