#include "tui/commands/sample.h"
#include "tui/commands/command.h"
#include "tui/sources/outside.h"
#include "tui/sources/running.h"
#include "trace/summary/summary.h"
#include "trace/job/window.h"
#include "trace/util/now.h"
#include "trace/util/sort.h"
#include "trace/verdict/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BETWEEN_NS  50000000 /* between samples, on average */
#define PATIENCE_NS 1000000000
enum { PLACES = 1024, LINES = 3, ROWS = 10, MOST_RANKS = 8, CHANCE = 3 };

enum side { LATE, OTHER, SIDES };

/* A function, or a line of it, and the samples of each side in it. */
struct place {
    char name[260]; /* "solve", "in MPI_Recv at halo.c:12" */
    char line[120]; /* "solver.c:88"; "": the function as a whole */
    unsigned count[SIDES];
};

struct sampled {
    size_t index;
    enum side side;
};

struct samples {
    struct sampled rank[MOST_RANKS];
    struct tui_outside *process[MOST_RANKS];
    size_t ranks;
    unsigned count[SIDES];
    struct place place[PLACES];
    size_t places;
};

static void count_place(struct samples *s, const char *name, const char *line, enum side side)
{
    size_t i = 0;
    while (i < s->places && (strcmp(s->place[i].name, name) != 0 || strcmp(s->place[i].line, line) != 0))
        i++;
    if (i == PLACES)
        return;
    s->places += i == s->places;
    snprintf(s->place[i].name, sizeof s->place[i].name, "%s", name);
    snprintf(s->place[i].line, sizeof s->place[i].line, "%s", line);
    s->place[i].count[side]++;
}

/* Adds a rank's stack: to its call of MPI, or to its innermost function of the program and the line there. */
static void add_stack(void *samples, size_t rank, const struct tui_outside_stack *stack)
{
    struct samples *s = samples;
    const enum side side = s->rank[rank].side;
    const size_t outer = tui_outside_call(stack);
    const struct tui_outside_frame *at = tui_outside_place(stack);
    char name[260], call[120];
    s->count[side]++;
    if (outer < stack->count) {
        tui_outside_call_name(stack->frame[outer].function, call, sizeof call);
        snprintf(name, sizeof name, "in %s%s%s", call, at ? " at " : "", at ? at->where : "");
        count_place(s, name, "", side);
        return;
    }
    at = at ? at : &stack->frame[0];
    snprintf(name, sizeof name, "%s", *at->function ? at->function : at->where);
    count_place(s, name, "", side);
    if (*at->function)
        count_place(s, name, at->where, side);
}

/* Samples at moments of chance, so that no period of the program meets them. */
static void sample(struct samples *s, double seconds)
{
    const int64_t end = ana_now_ns() + (int64_t)(seconds * 1e9);
    unsigned seed = (unsigned)ana_now_ns();
    while (ana_now_ns() < end) {
        tui_outside_read(s->process, s->ranks, PATIENCE_NS, add_stack, s);
        nanosleep(&(struct timespec){.tv_nsec = BETWEEN_NS / 2 + rand_r(&seed) % BETWEEN_NS}, NULL);
    }
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static bool is_here(const struct ana_rank *rank)
{
    return tui_is_this_host(rank->host) && (rank->state == ANA_RANK_RUN || rank->state == ANA_RANK_IN_MPI);
}

/* Chooses the late ranks, if none was asked for, and one rank to compare them with: that on which the others waited
 * least.  False: there is none. */
static bool choose_ranks(struct ana_job *job, uint8_t *late, bool asked, size_t *other)
{
    const size_t n = ana_job_info(job).ranks;
    struct ana_summary summary;
    *other = SIZE_MAX;
    ana_job_advance(job, 0);
    const struct ana_verdict *v = ana_job_verdict(job);
    for (size_t i = 0; !asked && i < v->culprits; i++)
        late[v->culprit[i]] = 1;
    asked |= v->culprits > 0;
    if (ana_summarize(job, (struct ana_selection){.end_ns = INT64_MAX}, &summary) != TRC_OK)
        return false;
    size_t most = SIZE_MAX;
    for (size_t i = 0; i < summary.rank_count; i++)
        if (is_here(ana_job_rank(job, i)) &&
            (most == SIZE_MAX || summary.ranks[i].charged_ns > summary.ranks[most].charged_ns))
            most = i;
    if (!asked && most != SIZE_MAX)
        late[most] = 1;
    for (size_t i = 0; i < summary.rank_count && i < n; i++)
        if (!late[i] && is_here(ana_job_rank(job, i)) &&
            (*other == SIZE_MAX || summary.ranks[i].charged_ns < summary.ranks[*other].charged_ns))
            *other = i;
    ana_summary_free(&summary);
    return most != SIZE_MAX;
}

/* Opens the processes; returns the number of late ones among them. */
static size_t open_ranks(struct samples *s, const struct ana_job *job, const uint8_t *late, size_t other)
{
    size_t opened = 0;
    for (size_t i = 0; i < ana_job_info(job).ranks && s->ranks < MOST_RANKS; i++) {
        const struct ana_rank *rank = ana_job_rank(job, i);
        if ((!late[i] && i != other) || !is_here(rank) || (late[i] && s->ranks + 1 == MOST_RANKS))
            continue;
        struct tui_outside *process = tui_outside_open((int)rank->pid);
        if (process) {
            s->process[s->ranks] = process;
            s->rank[s->ranks++] = (struct sampled){i, late[i] ? LATE : OTHER};
        }
        opened += process && late[i];
    }
    return opened;
}

/* ---- output ----------------------------------------------------------------------------------------------------- */

static double share(const struct samples *s, const struct place *place, enum side side)
{
    return s->count[side] ? (double)place->count[side] / s->count[side] : 0;
}

/* Returns the late side's excess over the other's share, in standard errors. */
static double excess(const struct samples *s, const struct place *place)
{
    const double n = s->count[LATE], m = s->count[OTHER], all = (place->count[LATE] + place->count[OTHER]) / (n + m);
    const double error = sqrt(all * (1 - all) * (1 / n + 1 / m));
    return error > 0 ? (share(s, place, LATE) - share(s, place, OTHER)) / error : 0;
}

ANA_COMPARE(by_late, struct place, ANA_ORDER(y->count[LATE], x->count[LATE]),
            ANA_ORDER(y->count[OTHER], x->count[OTHER]), strcmp(x->name, y->name))

static void print_row(const struct samples *s, const struct place *place)
{
    printf("  %5.1f %%", 100 * share(s, place, LATE));
    if (s->count[OTHER])
        printf("  %5.1f %%", 100 * share(s, place, OTHER));
    printf("  %s%s\n", *place->line ? "  " : "", *place->line ? place->line : place->name);
}

/* Prints a function, and its lines if it is in several. */
static void print_function(const struct samples *s, const struct place *function)
{
    int lines = 0;
    print_row(s, function);
    for (size_t i = 0; i < s->places && lines < LINES; i++) {
        const struct place *place = &s->place[i];
        if (*place->line && strcmp(place->name, function->name) == 0 && place->count[LATE]) {
            print_row(s, place);
            lines++;
        }
    }
}

/* Prints the place where the late side is more often than chance explains, first of all. */
static void print_answer(const struct samples *s, const char *late, const char *other)
{
    const struct place *best = NULL, *line = NULL;
    for (size_t i = 0; i < s->places; i++) {
        const struct place *place = &s->place[i];
        if (!*place->line && strncmp(place->name, "in ", 3) != 0 && excess(s, place) > CHANCE &&
            (!best || place->count[LATE] > best->count[LATE]))
            best = place;
    }
    for (size_t i = 0; best && i < s->places && !line; i++)
        if (*s->place[i].line && strcmp(s->place[i].name, best->name) == 0)
            line = &s->place[i];
    if (best)
        printf("%s is in %s%s%s%s in %.0f %% of the samples, %s in %.0f %%\n", late, best->name, line ? " (" : "",
               line ? line->line : "", line ? ")" : "", 100 * share(s, best, LATE), other, 100 * share(s, best, OTHER));
    else
        printf("no function of the program stands out: %s and %s differ by no more than chance\n", late, other);
}

static void name_side(const struct samples *s, const struct ana_job *job, enum side side, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < s->ranks; i++)
        if (s->rank[i].side == side && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s%d", n ? "," : "rank ",
                                  ana_job_rank(job, s->rank[i].index)->rank);
}

static void print_samples(struct samples *s, const struct ana_job *job, double seconds)
{
    char late[80], other[80];
    int rows = 0;
    name_side(s, job, LATE, late, sizeof late);
    name_side(s, job, OTHER, other, sizeof other);
    ana_sort(s->place, s->places, sizeof *s->place, by_late);
    printf("%s: %u samples in %.1f s%s%s", late, s->count[LATE], seconds, *other ? "; compared with " : "\n", other);
    if (*other)
        printf(": %u\n", s->count[OTHER]);
    if (s->count[LATE] && s->count[OTHER])
        print_answer(s, late, other);
    printf("\n  %7s", "LATE");
    printf(s->count[OTHER] ? "  %7s  FUNCTION, LINE\n" : "%s  FUNCTION, LINE\n", s->count[OTHER] ? "OTHER" : "");
    for (size_t i = 0; i < s->places && rows < ROWS; i++)
        if (!*s->place[i].line) {
            print_function(s, &s->place[i]);
            rows++;
        }
}

/* Samples and prints; `late` has an element a rank.  Returns the exit status. */
static int sample_ranks(struct samples *s, struct ana_job *job, double seconds, const char *ranks, uint8_t *late)
{
    char error[200];
    size_t other = SIZE_MAX;
    if (ranks && !ana_ranks_of_text(job, ranks, late, error, sizeof error))
        return tui_input_error("%s", error);
    if (!choose_ranks(job, late, ranks != NULL, &other))
        return tui_input_error("no rank of this job runs on this host: sample where it runs, for example by ssh");
    const bool opened = open_ranks(s, job, late, other);
    if (opened)
        sample(s, seconds);
    for (size_t i = 0; i < s->ranks; i++)
        tui_outside_close(s->process[i]);
    if (!opened)
        return tui_input_error("the ranks to sample do not run on this host");
    if (!s->count[LATE]) {
        tui_outside_why_not(error, sizeof error);
        return tui_input_error("%s", error);
    }
    print_samples(s, job, seconds);
    return tui_finish(TUI_EXIT_OK);
}

int tui_sample(struct ana_job *job, double seconds, const char *ranks)
{
    struct samples *s = calloc(1, sizeof *s);
    uint8_t *late = calloc(ana_job_info(job).ranks + 1, 1);
    const int status = s && late ? sample_ranks(s, job, seconds, ranks, late) : tui_input_error("out of memory");
    free(late);
    free(s);
    return status;
}
