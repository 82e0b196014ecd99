#include "tui/sources/samples.h"
#include "tui/sources/outside.h"
#include "trace/util/now.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BETWEEN_NS  50000000 /* between samples, on average */
#define PATIENCE_NS 1000000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tui_samples latest; /* under the lock */

/* The thread's own, from start to end. */
static struct tui_samples_process sampled[TUI_SAMPLES_MOST];
static size_t sampled_count;
static double sampled_s;

static void count_place(const char *name, const char *line, enum tui_samples_side side)
{
    struct tui_samples *s = &latest;
    size_t i = 0;
    while (i < s->places && (strcmp(s->place[i].name, name) != 0 || strcmp(s->place[i].line, line) != 0))
        i++;
    if (i == TUI_SAMPLES_PLACES)
        return;
    s->places += i == s->places;
    snprintf(s->place[i].name, sizeof s->place[i].name, "%s", name);
    snprintf(s->place[i].line, sizeof s->place[i].line, "%s", line);
    s->place[i].count[side]++;
}

/* Adds a stack: to its call of MPI, or to its innermost function of the program and the line there. */
static void add_stack(void *unused, size_t i, const struct tui_outside_stack *stack)
{
    (void)unused;
    const enum tui_samples_side side = sampled[i].side;
    const size_t outer = tui_outside_call(stack);
    const struct tui_outside_frame *at = tui_outside_place(stack);
    char name[260], call[120];
    pthread_mutex_lock(&lock);
    latest.count[side]++;
    if (outer < stack->count) {
        tui_outside_call_name(stack->frame[outer].function, call, sizeof call);
        snprintf(name, sizeof name, "in %s%s%s", call, at ? " at " : "", at ? at->where : "");
        count_place(name, "", side);
    } else {
        at = at ? at : &stack->frame[0];
        snprintf(name, sizeof name, "%s", *at->function ? at->function : at->where);
        count_place(name, "", side);
        if (*at->function)
            count_place(name, at->where, side);
    }
    pthread_mutex_unlock(&lock);
}

/* Samples at moments of chance, so that no period of the program meets them. */
static void *sample(void *unused)
{
    struct tui_outside *process[TUI_SAMPLES_MOST];
    for (size_t i = 0; i < sampled_count; i++)
        process[i] = tui_outside_open(sampled[i].pid, sampled[i].pid);
    const int64_t end = ana_now_ns() + (int64_t)(sampled_s * 1e9);
    unsigned seed = (unsigned)ana_now_ns();
    while (ana_now_ns() < end) {
        tui_outside_read(process, sampled_count, PATIENCE_NS, add_stack, NULL);
        nanosleep(&(struct timespec){.tv_nsec = BETWEEN_NS / 2 + rand_r(&seed) % BETWEEN_NS}, NULL);
    }
    for (size_t i = 0; i < sampled_count; i++)
        tui_outside_close(process[i]);
    pthread_mutex_lock(&lock);
    latest.runs = false;
    pthread_mutex_unlock(&lock);
    return unused;
}

bool tui_samples_start(const struct tui_samples_process *process, size_t n, double seconds)
{
    pthread_t thread;
    pthread_mutex_lock(&lock);
    bool started = !latest.runs && n <= TUI_SAMPLES_MOST;
    if (started) {
        memset(&latest, 0, sizeof latest);
        memcpy(sampled, process, n * sizeof *process);
        sampled_count = n;
        sampled_s = seconds;
        started = latest.runs = pthread_create(&thread, NULL, sample, NULL) == 0;
    }
    pthread_mutex_unlock(&lock);
    if (started)
        pthread_detach(thread);
    return started;
}

void tui_samples_copy(struct tui_samples *out)
{
    pthread_mutex_lock(&lock);
    *out = latest;
    pthread_mutex_unlock(&lock);
}
