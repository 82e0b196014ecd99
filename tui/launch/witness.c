#include "tui/launch/witness.h"
#include "trace/format/format.h"
#include "trace/util/now.h"
#include "trace/util/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUFFIX    ".hpctop"
#define MOST      1024u /* processes that are watched */
#define PAUSE_MS  200   /* between two looks for new processes, in the first minute, */
#define LATER_MS  3000  /* .. and later */
#define OFTEN     300u  /* looks of the first minute */
#define TO_SIGNAL UINT64_MAX

struct watched {
    int pid, fd; /* fd: a descriptor of the process; -1 it has ended */
    char *name;  /* name of the trace file */
};

struct tui_witness {
    const char *folder;
    int poll;
    unsigned looks;
    char host[64];
    size_t n;
    struct watched process[MOST];
};

/* A process's starting time in ticks of the kernel; 0: it does not exist. */
static unsigned long long started(int pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Watches the process of a trace file HOST.PID.START.hpctop if it is one of this host and pid namespace. */
static void watch(struct tui_witness *w, const char *name)
{
    const size_t host = strlen(w->host);
    int pid = 0, length = 0;
    unsigned long long start = 0;
    if (w->n == MOST || strncmp(name, w->host, host) != 0 ||
        sscanf(name + host, ".%d.%llu%n", &pid, &start, &length) != 2 || strcmp(name + host + length, SUFFIX) != 0)
        return;
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->process[i].name, name) == 0)
            return;
    struct watched *p = &w->process[w->n];
    *p = (struct watched){pid, (int)syscall(SYS_pidfd_open, pid, 0), strdup(name)};
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = w->n};
    if (p->fd >= 0 && p->name && started(pid) == start && !epoll_ctl(w->poll, EPOLL_CTL_ADD, p->fd, &event)) {
        w->n++;
        return;
    }
    if (p->fd >= 0)
        close(p->fd);
    free(p->name);
}

static void look(struct tui_witness *w)
{
    DIR *dir = opendir(w->folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (trc_ends_in(entry->d_name, SUFFIX))
            watch(w, entry->d_name);
    if (dir)
        closedir(dir);
    w->looks++;
}

/* The ticks of a process's clock at that time; 0: not known. */
static uint64_t ticks_at(const struct trc_head *head, uint64_t now_ns)
{
    const struct trc_anchor *a = &head->start, *b = &head->latest;
    if (head->clock_source == TRC_CLOCK_MONOTONIC)
        return now_ns;
    if (b->monotonic_ns <= a->monotonic_ns || b->ticks <= a->ticks || now_ns < a->monotonic_ns)
        return 0;
    const double rate = (double)(b->ticks - a->ticks) / (double)(b->monotonic_ns - a->monotonic_ns);
    return b->ticks + (uint64_t)(int64_t)(((double)now_ns - (double)b->monotonic_ns) * rate);
}

/* Stores the time of an end in the trace of a process that has not noted it. */
static void note(struct tui_witness *w, struct watched *p, uint64_t now_ns)
{
    char path[PATH_MAX];
    struct trc_head head;
    snprintf(path, sizeof path, "%s/%s", w->folder, p->name);
    const int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &head, sizeof head, 0) == sizeof head && memcmp(head.magic, TRC_MAGIC, 8) == 0 &&
        head.version == TRC_VERSION && head.state == TRC_STATE_RUNNING && !head.end.by && !head.end.ticks) {
        const uint64_t ticks = ticks_at(&head, now_ns);
        const off_t at = offsetof(struct trc_head, end) + offsetof(struct trc_end, ticks);
        if (ticks && pwrite(fd, &ticks, sizeof ticks, at) < 0)
            perror(path);
    }
    if (fd >= 0)
        close(fd);
    close(p->fd);
    p->fd = -1;
}

/* Notes the ends that come within the time.  True: the caller's descriptor can be read. */
static bool note_ends(struct tui_witness *w, int timeout_ms)
{
    struct epoll_event event[MOST + 1];
    bool signal = false;
    const int n = epoll_wait(w->poll, event, MOST + 1, timeout_ms);
    const uint64_t now_ns = (uint64_t)ana_now_ns();
    for (int i = 0; i < n; i++) {
        const uint64_t index = event[i].data.u64;
        signal |= index == TO_SIGNAL;
        if (index < w->n)
            note(w, &w->process[index], now_ns);
    }
    return signal;
}

struct tui_witness *tui_witness_new(const char *folder, int signals)
{
    struct tui_witness *w = calloc(1, sizeof *w);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = TO_SIGNAL};
    if (!w)
        return NULL;
    w->folder = folder;
    gethostname(w->host, sizeof w->host - 1);
    w->poll = epoll_create1(EPOLL_CLOEXEC);
    if (w->poll >= 0 && !epoll_ctl(w->poll, EPOLL_CTL_ADD, signals, &event))
        return w;
    tui_witness_free(w);
    return NULL;
}

void tui_witness_wait(struct tui_witness *w)
{
    while (!note_ends(w, w->looks < OFTEN ? PAUSE_MS : LATER_MS))
        look(w);
}

void tui_witness_free(struct tui_witness *w)
{
    if (!w)
        return;
    note_ends(w, 0);
    for (size_t i = 0; i < w->n; i++) {
        if (w->process[i].fd >= 0)
            close(w->process[i].fd);
        free(w->process[i].name);
    }
    if (w->poll >= 0)
        close(w->poll);
    free(w);
}
