/* Clocks and /proc at a moment of a simulated job: the reader asks libc, and gets them from here.  Its
 * processes have pids that no Linux has. */
#include "tests/yardstick/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PID 5000000u /* above PID_MAX_LIMIT */
#define START     4242u
#define BOOTED    1000000000 /* CLOCK_MONOTONIC when the files were made, as the trace builder has it */
#define WALL      1700000000000000000

struct process {
    bool exists;
    int64_t busy_ns, queued_ns;
    int threads;
};
static struct process process[MOST_RANKS];
static int processes;
static int64_t now_ns;

int clock_gettime(clockid_t id, struct timespec *t)
{
    int64_t ns = now_ns + (id == CLOCK_REALTIME ? WALL : BOOTED);
    *t = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

static const char *boot_id(void)
{
    static char id[40];
    FILE *f = *id ? NULL : fopen64("/proc/sys/kernel/random/boot_id", "r");
    if (f && !fgets(id, sizeof id, f))
        id[0] = 0;
    if (f)
        fclose(f);
    id[strcspn(id, "\n")] = 0;
    return id;
}

void process_fill(struct trc_head *head, int rank)
{
    head->pid = FIRST_PID + (uint32_t)rank;
    head->pid_start = START;
    snprintf(head->boot_id, sizeof head->boot_id, "%s", boot_id());
    gethostname(head->host, sizeof head->host - 1);
}

/* A file of memory, for one who reads it at once. */
static FILE *text_of(const struct process *p, const char *name)
{
    static char text[256];
    uint32_t pid = FIRST_PID + (uint32_t)(p - process);
    if (strcmp(name, "stat") == 0)
        snprintf(text, sizeof text, "%u (app) S 1 1 1 0 -1 0 0 0 0 0 %lld 0 0 0 20 0 %d 0 %u 0 0\n", pid,
                 (long long)(p->busy_ns / 10000000), p->threads, START);
    else if (strcmp(name, "schedstat") == 0)
        snprintf(text, sizeof text, "%lld %lld 1\n", (long long)p->busy_ns, (long long)p->queued_ns);
    else if (strcmp(name, "io") == 0)
        snprintf(text, sizeof text, "rchar: 0\nwchar: 0\nread_bytes: 0\nwrite_bytes: 0\n");
    else
        return NULL;
    return fmemopen(text, strlen(text), "r");
}

FILE *fopen(const char *path, const char *mode)
{
    unsigned pid;
    char name[32];
    if (sscanf(path, "/proc/%u/%31[a-z]", &pid, name) != 2 || pid < FIRST_PID)
        return fopen64(path, mode);
    const struct process *p = &process[pid - FIRST_PID];
    return p->exists ? text_of(p, name) : NULL;
}

/* Whether a thread uses a processor in an operation that takes long. */
static bool is_busy(const struct program *p, const struct op *op)
{
    switch (op->kind) {
    case OP_COMPUTE:
    case OP_STUCK:
        return !op->idle;
    case OP_EXIT:
    case OP_KILLED:
    case OP_FORK:
    case OP_FORKED:
    case OP_JOIN:
    case OP_WRITE:
        return false;
    default:
        return p->spins;
    }
}

static int64_t busy_ns(const struct program *p, const struct run *run, int actor, int64_t ns)
{
    int64_t sum = 0;
    for (int i = 0; i < run->done[actor] && run->log[actor][i].begin < ns; i++) {
        const struct done *done = &run->log[actor][i];
        if (is_busy(p, &p->actor[actor].op[done->op]))
            sum += (done->end < ns ? done->end : ns) - done->begin;
    }
    return sum;
}

static bool has_finalized(const struct program *p, const struct run *run, int rank, int64_t ns)
{
    const struct done *last = &run->log[rank][run->done[rank] - 1];
    return p->actor[rank].op[last->op].kind == OP_FINALIZE && last->end <= ns;
}

void process_set(const struct program *p, const struct run *run, int64_t ns, bool exist)
{
    now_ns = ns;
    processes = p->ranks;
    for (int r = 0; r < p->ranks; r++) {
        int64_t busy = 0;
        for (int a = r; a < p->actors && exist; a += p->ranks)
            busy += busy_ns(p, run, a, ns);
        int64_t ran = p->one_processor ? busy / p->ranks : busy;
        process[r] = (struct process){.exists = exist && run->gone[r] > ns && !has_finalized(p, run, r, ns),
                                      .busy_ns = ran,
                                      .queued_ns = busy - ran,
                                      .threads = p->actors / p->ranks + 1};
    }
}
