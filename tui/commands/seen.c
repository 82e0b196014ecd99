#include "tui/commands/seen.h"
#include "trace/util/now.h"
#include "trace/util/text.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 64, LOOKS = 4 };
#define BETWEEN_NS  330000000LL  /* between looks: a second for all */
#define PATIENCE_NS 5000000000LL /* for threads to stop */

/* ---- looking ----------------------------------------------------------------------------------------------------- */

/* Whether two stacks are the same from the call on outwards; `exact`: to the address, which ranks do not share. */
static bool is_same(const struct tui_outside_stack *a, size_t from_a, const struct tui_outside_stack *b, size_t from_b,
                    bool exact)
{
    bool same = a->count - from_a == b->count - from_b;
    for (size_t i = 0; same && from_a + i < a->count; i++) {
        const struct tui_outside_frame *x = &a->frame[from_a + i], *y = &b->frame[from_b + i];
        same = strcmp(x->function, y->function) == 0 &&
               (!i || (strcmp(x->where, y->where) == 0 && (!exact || x->address == y->address)));
    }
    return same;
}

/* Whether a call returns at once, whether or not a message has come. */
static bool is_poll(const char *call)
{
    return strstr(call, "_Test") || strstr(call, "_Iprobe") || strstr(call, "_Improbe") ||
           strstr(call, "_get_status") || strstr(call, "_Parrived");
}

/* Whether two stacks are in the same function of the program. */
static bool is_same_function(const struct tui_outside_stack *a, const struct tui_outside_stack *b)
{
    const struct tui_outside_frame *x = tui_outside_place(a), *y = tui_outside_place(b);
    return x && y && strcmp(x->function, y->function) == 0;
}

/* Compares a stack with the one before, and keeps it. */
static void add_stack(void *ranks, size_t i, const struct tui_outside_stack *now)
{
    struct tui_rank_stack *rank = &((struct tui_rank_stack *)ranks)[i];
    const size_t outer = tui_outside_call(now);
    const bool inside = outer < now->count, was = rank->outer < rank->stack.count;
    rank->moves +=
        rank->looks && (inside || was) && !is_same(now, inside ? outer : 0, &rank->stack, was ? rank->outer : 0, true);
    rank->strays |= rank->looks && !is_same_function(now, &rank->stack);
    rank->stack = *now;
    rank->outer = outer;
    char call[sizeof rank->polls] = "";
    if (inside)
        tui_outside_call_name(now->frame[outer].function, call, sizeof call);
    if (is_poll(call))
        memcpy(rank->polls, call, sizeof call);
    rank->inside += inside;
    rank->looks++;
}

static bool is_process_stopped(int pid)
{
    char text[1024];
    tui_read_proc(pid, "stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    return at && strncmp(at, ") T", 3) == 0;
}

static void note_call(void *calls, size_t i, const struct tui_outside_stack *stack)
{
    (void)i;
    *(bool *)calls = tui_outside_call(stack) < stack->count;
}

/* Finds the thread that is inside a call, for a rank whose main thread waits elsewhere.  NULL: none is. */
static struct tui_outside *find_caller(int pid)
{
    char path[64];
    struct tui_outside *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    int tried = 0;
    for (struct dirent *e; tasks && !found && tried < MOST_THREADS && (e = readdir(tasks));) {
        const int tid = atoi(e->d_name);
        struct tui_outside *thread = tid && tid != pid ? tui_outside_open(pid, tid) : NULL;
        bool calls = false;
        tui_outside_read(&thread, 1, BETWEEN_NS, note_call, &calls);
        if (calls)
            found = thread;
        else
            tui_outside_close(thread);
        tried++;
    }
    if (tasks)
        closedir(tasks);
    return found;
}

/* Has the calling thread read in place of main threads that wait, as in pthread_join. */
static void read_callers(struct tui_rank_stack *rank, struct tui_outside **process, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct tui_outside *caller =
            rank[i].looks && !rank[i].inside && !rank[i].stack.runs ? find_caller(rank[i].id.pid) : NULL;
        if (!caller)
            continue;
        tui_outside_close(process[i]);
        process[i] = caller;
        rank[i].beside = true;
        rank[i].looks = 0;
    }
}

/* ---- after the looks --------------------------------------------------------------------------------------------- */

const char *tui_seen_call(const struct tui_rank_stack *rank)
{
    static char name[120];
    if (*rank->polls && !rank->strays)
        return rank->polls;
    if (!rank->looks || rank->outer == rank->stack.count)
        return NULL;
    tui_outside_call_name(rank->stack.frame[rank->outer].function, name, sizeof name);
    return name;
}

void tui_seen_arguments(const struct tui_rank_stack *rank, char *out, size_t size)
{
    const struct tui_outside_arguments none = {0};
    tui_outside_arguments_words(*rank->polls ? &none : &rank->stack.call, out, size);
}

bool tui_seen_moves(const struct tui_rank_stack *rank)
{
    const bool polls = *rank->polls && !rank->strays;
    return !polls && (rank->moves || (rank->inside && rank->inside < rank->looks));
}

/* Makes ranks poll that were seen outside MPI alone, in the function in which another rank polls: polls are short. */
static void find_polls(struct tui_rank_stack *rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n && rank[i].looks && !rank[i].inside && !*rank[i].polls; k++)
            if (*rank[k].polls && !rank[k].strays && is_same_function(&rank[i].stack, &rank[k].stack))
                memcpy(rank[i].polls, rank[k].polls, sizeof rank[i].polls);
}

bool tui_seen_alike(const struct tui_rank_stack *a, const struct tui_rank_stack *b)
{
    const bool inside = a->outer < a->stack.count;
    return a->looks && b->looks && inside == (b->outer < b->stack.count) &&
           is_same(&a->stack, inside ? a->outer : 0, &b->stack, inside ? b->outer : 0, false);
}

/* ---- a second of looks ------------------------------------------------------------------------------------------- */

/* Looks at all ranks several times within a second. */
static void look(struct tui_rank_stack *rank, struct tui_outside **process, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        process[i] = tui_outside_open(rank[i].id.pid, rank[i].id.pid);
        rank[i].cpu_s = -tui_outside_cpu_s(rank[i].id.pid);
        rank[i].stopped = is_process_stopped(rank[i].id.pid);
    }
    const int64_t began = ana_now_ns();
    for (int k = 0; k < LOOKS; k++) {
        const int64_t left = began + k * BETWEEN_NS - ana_now_ns();
        if (left > 0)
            nanosleep(&(struct timespec){.tv_nsec = left}, NULL);
        tui_outside_read(process, n, PATIENCE_NS, add_stack, rank);
        if (!k)
            read_callers(rank, process, n);
    }
    const double took = (double)(ana_now_ns() - began) / 1e9;
    for (size_t i = 0; i < n; i++) {
        rank[i].cpu_s = (rank[i].cpu_s + tui_outside_cpu_s(rank[i].id.pid)) / took;
        tui_outside_close(process[i]);
    }
}

bool tui_seen_look(struct tui_rank_stack *rank, size_t n)
{
    struct tui_outside **process = calloc(n + 1, sizeof *process);
    if (!process)
        return false;
    look(rank, process, n);
    find_polls(rank, n);
    free(process);
    return true;
}

/* ---- ranks as text ----------------------------------------------------------------------------------------------- */

#define WRITTEN     "hpctop-look %zu %zu\n" /* size of a rank, number */
#define WITH_FRAMES offsetof(struct tui_rank_stack, stack.frame)

void tui_seen_write(const struct tui_rank_stack *rank, size_t n, FILE *to)
{
    fprintf(to, WRITTEN, sizeof *rank, n);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *bytes = (const unsigned char *)&rank[i];
        const size_t size = WITH_FRAMES + rank[i].stack.count * sizeof *rank->stack.frame;
        for (size_t k = 0; k < size; k++)
            fprintf(to, "%02x", bytes[k]); /* stdout is for text */
        fputc('\n', to);
    }
}

static void clean(char *text, size_t size)
{
    text[size - 1] = 0;
    trc_clean_text(text);
}

/* Reads one rank.  False: the text has ended, or is damaged. */
static bool read_rank(FILE *from, struct tui_rank_stack *out)
{
    unsigned char *bytes = (unsigned char *)out;
    size_t n = 0;
    memset(out, 0, sizeof *out);
    while (n < sizeof *out && fscanf(from, "%2hhx", &bytes[n]) == 1) {
        n++;
        const int next = fgetc(from);
        if (next == '\n' || next == EOF)
            break;
        ungetc(next, from);
    }
    if (n < WITH_FRAMES || out->stack.count > TUI_OUTSIDE_FRAMES || out->outer > out->stack.count || out->id.rank < 0 ||
        n != WITH_FRAMES + out->stack.count * sizeof *out->stack.frame)
        return false;
    clean(out->polls, sizeof out->polls);
    for (size_t i = 0; i < out->stack.count; i++) {
        clean(out->stack.frame[i].function, sizeof out->stack.frame[i].function);
        clean(out->stack.frame[i].where, sizeof out->stack.frame[i].where);
    }
    out->id.pid = -out->id.pid; /* a process elsewhere */
    return true;
}

int tui_seen_read(FILE *from, const struct tui_rank_stack *has, size_t n, struct tui_rank_stack *out, size_t max)
{
    char line[256];
    size_t size = 0, ranks = 0, added = 0;
    while (!size && fgets(line, sizeof line, from))
        if (sscanf(line, WRITTEN, &size, &ranks) != 2)
            size = 0;
    if (size != sizeof *out)
        return -1;
    while (ranks-- && added < max && read_rank(from, &out[added])) {
        size_t i = 0;
        while (i < n && has[i].id.rank != out[added].id.rank)
            i++;
        added += i == n;
    }
    return (int)added;
}
