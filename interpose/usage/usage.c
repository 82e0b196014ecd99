#include "interpose/usage/usage.h"
#include "interpose/base/children.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"
#include "interpose/core/facts.h"
#include "interpose/core/state.h"
#include "interpose/mpi/thread.h"
#include "interpose/usage/hardware.h"
#include "interpose/usage/network.h"
#include "trace/writer/now.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define OFTEN_TIMES 5000u      /* pause after a reading, in multiples of its duration: 0.02 % */
#define RARE_TIMES  10000u     /* the same for switches, children and network: 0.01 % */
#define RARE_NS     1000000000 /* shortest such pause */
#define TICK_US     10000u     /* unit of times in /proc/self/task/TID/stat */

/* Threads that were read, with their counts at the last item. */
struct owner {
    uint32_t tid; /* 0: not yet */
    struct trc_usage seen;
};

static struct trc_usage_stream stream;
static struct owner owners[TRC_MAX_THREADS + TRC_USAGE_THREAD];
static uint64_t since_ticks, next_ns, all_ns, often_ns, cost_ns, begun_ns, rounds;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* The number in field `n`, from 1, of words separated by blanks. */
static uint64_t field_at(const char *text, unsigned n)
{
    while (--n && *text) {
        text += strspn(text, " ");
        text += strcspn(text, " ");
    }
    return ipo_text_number(text);
}

/* The number behind `name` in lines of names and numbers.  False: it is not there. */
static bool number_behind(const char *text, const char *name, uint64_t *out)
{
    const char *at = strstr(text, name);
    if (at)
        *out = ipo_text_number(at + strlen(name) + strspn(at + strlen(name), ":\t"));
    return at;
}

/* Reads a thread's counts; `all`: also the counts that take long to read.  False: it has ended. */
static bool read_thread(uint32_t tid, uint32_t index, bool all, struct trc_usage *now)
{
    char text[4096];
    uint64_t number;
    *now = (struct trc_usage){.whose = TRC_USAGE_THREAD + index};
    if (!ipo_read_process(0, tid, "stat", text, sizeof text))
        return false;
    const char *behind = strrchr(text, ')'); /* the name may have blanks and brackets */
    if (behind) {
        ipo_usage_set(now, TRC_USAGE_MINOR, field_at(behind + 1, 8)); /* proc(5), less two fields */
        ipo_usage_set(now, TRC_USAGE_MAJOR, field_at(behind + 1, 10));
        ipo_usage_set(now, TRC_USAGE_SYSTEM, field_at(behind + 1, 13) * TICK_US);
    }
    if (ipo_read_process(0, tid, "schedstat", text, sizeof text)) {
        ipo_usage_set(now, TRC_USAGE_CPU, field_at(text, 1) / 1000);
        ipo_usage_set(now, TRC_USAGE_QUEUED, field_at(text, 2) / 1000);
    }
    if (all && ipo_read_process(0, tid, "status", text, sizeof text)) {
        if (number_behind(text, "\nvoluntary_ctxt_switches", &number))
            ipo_usage_set(now, TRC_USAGE_VOLUNTARY, number);
        if (number_behind(text, "\nnonvoluntary_ctxt_switches", &number))
            ipo_usage_set(now, TRC_USAGE_INVOLUNTARY, number);
    }
    ipo_hardware_read(tid, index, now);
    return true;
}

/* Reads the counts of the process; with `all` its children's time, too. */
static void read_process(bool all, struct trc_usage *now)
{
    char text[512];
    uint64_t number;
    struct rusage used;
    *now = (struct trc_usage){.whose = TRC_USAGE_PROCESS};
    ipo_usage_set(now, TRC_USAGE_BEATS, ipo_process.writer.head->heartbeats);
    if (!getrusage(RUSAGE_SELF, &used)) {
        uint64_t system_us = (uint64_t)used.ru_stime.tv_sec * 1000000 + (uint64_t)used.ru_stime.tv_usec;
        uint64_t user_us = (uint64_t)used.ru_utime.tv_sec * 1000000 + (uint64_t)used.ru_utime.tv_usec;
        ipo_usage_set(now, TRC_USAGE_CPU, user_us + system_us);
        ipo_usage_set(now, TRC_USAGE_SYSTEM, system_us);
        ipo_usage_set(now, TRC_USAGE_MINOR, (uint64_t)used.ru_minflt);
        ipo_usage_set(now, TRC_USAGE_MAJOR, (uint64_t)used.ru_majflt);
        ipo_usage_set(now, TRC_USAGE_VOLUNTARY, (uint64_t)used.ru_nvcsw);
        ipo_usage_set(now, TRC_USAGE_INVOLUNTARY, (uint64_t)used.ru_nivcsw);
    }
    if (all && !getrusage(RUSAGE_CHILDREN, &used)) {
        uint64_t ended_us = (uint64_t)(used.ru_stime.tv_sec + used.ru_utime.tv_sec) * 1000000 +
                            (uint64_t)(used.ru_stime.tv_usec + used.ru_utime.tv_usec);
        ipo_usage_set(now, TRC_USAGE_CHILDREN, ended_us + ipo_children_ticks((uint32_t)getpid()) * TICK_US);
    }
    if (ipo_read_process(0, (uint32_t)syscall(SYS_gettid), "schedstat", text, sizeof text))
        ipo_usage_set(now, TRC_USAGE_QUEUED, field_at(text, 2) / 1000);
    if (!ipo_read_process(0, 0, "io", text, sizeof text))
        return;
    if (number_behind(text, "\nread_bytes", &number))
        ipo_usage_set(now, TRC_USAGE_READ, number);
    if (number_behind(text, "\nwrite_bytes", &number))
        ipo_usage_set(now, TRC_USAGE_WRITTEN, number);
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* Adds what rose of an owner's counts; of one that is new, that it is counted from here on. */
static void add_owner(uint32_t tid, const struct trc_usage *now)
{
    struct owner *owner = &owners[now->whose];
    struct trc_usage risen = {.whose = now->whose};
    bool is_new = owner->tid != tid, any = is_new;
    for (uint32_t i = 0; !is_new && i < TRC_USAGE_FIELDS; i++) {
        uint64_t before = owner->seen.value[i];
        if (!(now->fields & owner->seen.fields & 1u << i) || now->value[i] <= before)
            continue; /* not read now, or nothing rose */
        ipo_usage_set(&risen, (enum trc_usage_field)i, now->value[i] - before);
        any = true;
    }
    if (any && !trc_usage_add(&stream, &risen))
        return; /* no room: it counts in the next item */
    owner->tid = tid;
    owner->seen.fields = is_new ? 0 : owner->seen.fields;
    for (uint32_t i = 0; i < TRC_USAGE_FIELDS; i++)
        if (now->fields >> i & 1)
            ipo_usage_set(&owner->seen, (enum trc_usage_field)i, now->value[i]);
}

/* Reads the counts; `all`: also the ones that take long. */
static void read_all(bool all)
{
    struct trc_usage now;
    for (const struct ipo_thread *thread = ipo_thread_first(); thread; thread = thread->next) {
        uint32_t tid = __atomic_load_n(&thread->tid, __ATOMIC_RELAXED);
        const struct trc_page *page = thread->stream.page;
        uint32_t index = page ? page->chunk.thread : TRC_MAX_THREADS;
        if (tid && index < TRC_MAX_THREADS && read_thread(tid, index, all, &now))
            add_owner(tid, &now);
    }
    read_process(all, &now);
    add_owner(1, &now);
    if (!all)
        return;
    now = (struct trc_usage){.whose = TRC_USAGE_NODE};
    ipo_network_read(&now);
    add_owner(1, &now);
}

static uint64_t own_cpu_ns(void)
{
    struct timespec at = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

/* Logs the cost of reading: "1208 us of 10000123 us, 100 times". */
static void log_cost(uint64_t now_ns)
{
    struct ipo_text line = {.used = 0};
    ipo_text_add_number(&line, cost_ns / 1000);
    ipo_text_add(&line, " us of ");
    ipo_text_add_number(&line, (now_ns - begun_ns) / 1000);
    ipo_text_add(&line, " us, ");
    ipo_text_add_number(&line, rounds);
    ipo_text_add(&line, " times");
    ipo_fact("usage", line.text);
}

/* Sets the times of the next readings after one that took `took_ns`. */
static void set_next(uint64_t now_ns, uint64_t took_ns, bool all)
{
    if (!all) {
        often_ns = took_ns;
    } else {
        uint64_t rest_ns = (took_ns > often_ns ? took_ns - often_ns : 0) * RARE_TIMES;
        all_ns = now_ns + (rest_ns > RARE_NS ? rest_ns : RARE_NS);
    }
    next_ns = now_ns + often_ns * OFTEN_TIMES;
}

void ipo_usage_count(bool last)
{
    static atomic_flag busy = ATOMIC_FLAG_INIT;
    struct trc_writer *writer = &ipo_process.writer;
    uint64_t now_ns = trc_now_ns();
    if (!writer->head || (now_ns < next_ns && !last) || (last && !since_ticks) || atomic_flag_test_and_set(&busy))
        return; /* not yet; a process that has ended before the first time has nothing to tell */
    bool all = (often_ns && now_ns >= all_ns) || last; /* the first reading measures the cost of the frequent ones */
    uint64_t before_ns = own_cpu_ns(), ticks = writer->ticks();
    stream.writer = writer;
    read_all(all);
    trc_usage_end(&stream, since_ticks ? since_ticks : ticks, ticks);
    since_ticks = ticks;
    begun_ns = begun_ns ? begun_ns : now_ns;
    uint64_t took_ns = own_cpu_ns() - before_ns;
    cost_ns += took_ns;
    rounds++;
    set_next(now_ns, took_ns, all);
    if (last)
        log_cost(now_ns);
    atomic_flag_clear(&busy);
}
