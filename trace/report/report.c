#include "trace/report/report.h"
#include "trace/report/page.h"
#include "trace/util/numfmt.h"
#include "trace/job/process.h"
#include "trace/util/times.h"
#include "trace/verdict/verdict.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_RANKS 20
#define MOST_ROWS  12

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 && part >= 0 ? (double)part / (double)whole : NAN;
}

/* Text in lines of 80 columns, the later ones indented. */
static void paragraph(const struct ana_page *p, const char *text)
{
    size_t at = 0, n = strlen(text);
    while (n - at > 78) {
        size_t cut = 78;
        while (cut > 40 && text[at + cut] != ' ')
            cut--;
        fprintf(p->out, "  %.*s\n", (int)cut, text + at);
        at += cut + (text[at + cut] == ' ');
    }
    fprintf(p->out, "  %s\n", text + at);
}

static void line(const struct ana_page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void line(const struct ana_page *p, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    paragraph(p, text);
}

/* ---- sections -------------------------------------------------------------------------------------------------------
 */

static void job_section(const struct ana_page *p)
{
    const struct ana_job_info *i = &p->info;
    char elapsed[ANA_TEXT], start[64] = "", headline[512];
    time_t t = (time_t)(i->start_realtime_ns / 1000000000);
    struct tm tm;
    if (localtime_r(&t, &tm))
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S %z", &tm);
    ana_clock(elapsed, sizeof elapsed, i->elapsed_ns);
    fprintf(p->out, "hpctop  %s  %s %s %s\n", i->name, ana_state_name(i->state),
            i->state == ANA_RUNNING ? "for" : "after", elapsed);
    char command[72];
    ana_column(command, sizeof command, i->command, strlen(i->command) < 68 ? (int)strlen(i->command) : 68, false);
    if (i->command[0])
        fprintf(p->out, "  command %s\n", command);
    bool of_batch = i->batch[0] && strncmp(i->id, i->batch, strlen(i->batch)) != 0; /* else it is in the id: 4711.0 */
    if (of_batch || (i->id[0] && strcmp(i->id, i->name) != 0))
        fprintf(p->out, "  job     %s%s%s%s\n", of_batch ? i->batch : i->id, of_batch ? " (" : "",
                of_batch ? i->id : "", of_batch ? ")" : "");
    fprintf(p->out, "  started %s, %zu rank%s on %zu host%s%s%s\n", start, i->world_size, i->world_size == 1 ? "" : "s",
            i->hosts, i->hosts == 1 ? "" : "s", i->mpi[0] ? ", " : "", i->mpi);
    struct ana_job_container in[8];
    size_t kinds = ana_job_containers(p->job, in, sizeof in / sizeof *in);
    for (size_t k = 0; k < kinds; k++)
        fprintf(p->out, "  %zu rank%s in %s%s%s\n", in[k].ranks, in[k].ranks == 1 ? "" : "s",
                in[k].runtime[0] ? in[k].runtime : "no container", in[k].image[0] ? ", image " : "", in[k].image);
    if (i->other_jobs)
        line(p, "warning: %s", ana_job_warning(p->job, 0));
    static const char *const mark[2][3] = {{"OK", "->", "!!"}, {"\xe2\x9c\x93", "\xe2\x97\x8f", "\xe2\x9c\x97"}};
    enum ana_weight weight = ana_headline(p->job, p->s, NULL, headline, sizeof headline);
    fprintf(p->out, "\n");
    line(p, "%s %s", mark[p->utf8][weight], headline);
}

/* Who does what, why that is the verdict, and what to look at; nothing where nothing is wrong. */
static void verdict_section(const struct ana_page *p)
{
    enum { MOST = 8 };
    const struct ana_verdict *v = ana_job_verdict(p->job);
    if (!v)
        return;
    bool places = v->state != ANA_VERDICT_HEALTHY && v->state != ANA_VERDICT_SLOW;
    for (size_t i = 0; places && i < ana_shown(v->groups, MOST); i++) {
        const struct ana_verdict_group *g = &v->group[i];
        line(p, "  %s: %s%s%s", g->who, g->doing, g->where[0] ? ", at " : "", g->where);
    }
    if (places)
        ana_page_more(p, ana_shown(v->groups, MOST), v->groups, "places");
    for (size_t i = 0; i < v->lines; i++)
        line(p, "  why: %s", v->line[i]);
    if (v->next[0])
        line(p, "  next: look at %s", v->next);
}

static void efficiency_section(const struct ana_page *p)
{
    const struct ana_efficiency *e = &p->s->efficiency;
    char a[ANA_TEXT], b[ANA_TEXT], c[ANA_TEXT];
    fprintf(p->out, "\n  parallel efficiency %s = load balance %s x communication %s\n",
            ana_number(a, sizeof a, ANA_SHARE, e->parallel, p->utf8),
            ana_number(b, sizeof b, ANA_SHARE, e->load_balance, p->utf8),
            ana_number(c, sizeof c, ANA_SHARE, e->communication, p->utf8));
}

/* Ranks with an odd state first, then those that cost the others most. */
struct order {
    const struct ana_page *page;
    size_t at; /* into s->ranks */
};

static int oddness(enum ana_rank_state state)
{
    static const int odd[] = {1, 2, 0, 5, 4, 3}; /* of run, wait, done, abort, dead, ? */
    return odd[state];
}

static int worst_first(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    const struct ana_rank_stat *s = &x->page->s->ranks[x->at], *t = &x->page->s->ranks[y->at];
    int odd_s = oddness(ana_job_rank(x->page->job, s->index)->state);
    int odd_t = oddness(ana_job_rank(x->page->job, t->index)->state);
    if (odd_s != odd_t)
        return odd_t - odd_s;
    if (s->caused_ns != t->caused_ns)
        return s->caused_ns > t->caused_ns ? -1 : 1;
    return s->index < t->index ? -1 : 1;
}

static int by_index(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void ranks_section(struct ana_page *p)
{
    static const struct ana_page_column columns[] = {ANA_COLUMN(5, "rank", RANK_NUMBER),
                                                     {1, "", NULL},
                                                     ANA_COLUMN(-12, "host", RANK_HOST),
                                                     {1, "", NULL},
                                                     ANA_COLUMN(-5, "state", RANK_STATE),
                                                     ANA_COLUMN(8, "wall", RANK_WALL),
                                                     ANA_COLUMN(6, "MPI", RANK_MPI_SHARE),
                                                     ANA_COLUMN(6, "wait", RANK_WAITING),
                                                     ANA_COLUMN(6, "late", RANK_LATE),
                                                     ANA_COLUMN(9, "sent", RANK_SENT),
                                                     ANA_COLUMN(9, "received", RANK_RECEIVED),
                                                     ANA_COLUMN(9, "calls", RANK_CALLS),
                                                     {0, NULL, NULL}};
    size_t n = p->s->rank_count, shown = ana_shown(n, MOST_RANKS);
    struct order *order = calloc(n + 1, sizeof *order);
    if (!order)
        return;
    for (size_t i = 0; i < n; i++)
        order[i] = (struct order){p, i};
    qsort(order, n, sizeof *order, worst_first);
    qsort(order, shown, sizeof *order, by_index);
    ana_page_table(p, n > shown ? "RANKS, those with most trouble" : "RANKS", columns);
    for (size_t i = 0; i < shown; i++) {
        const struct ana_rank_stat *s = &p->s->ranks[order[i].at];
        const struct ana_rank *r = ana_job_rank(p->job, s->index);
        ana_page_row(p, columns);
        ana_page_cells(p, &(struct ana_rank_row){.rank = r, .stat = s});
        if (r->inside && r->state != ANA_RANK_DONE) {
            char since[ANA_TEXT], call[256];
            ana_inside(p->job, s->index, call, sizeof call);
            fprintf(p->out, "       inside %s%s for %s\n", call, strchr(call, ' ') ? "," : "",
                    ana_spoken(since, sizeof since, (double)r->inside_ns));
        } else if (r->gpu_op && r->state != ANA_RANK_DONE) {
            char since[ANA_TEXT], op[256];
            ana_gpu_inside(p->job, s->index, op, sizeof op);
            fprintf(p->out, "       %s for %s\n", op, ana_spoken(since, sizeof since, (double)r->gpu_ns));
        }
    }
    ana_page_more(p, shown, n, "ranks");
    free(order);
}

/* Which library carried what; only where there is more than MPI. */
static void libraries_line(const struct ana_page *p)
{
    struct {
        const char *name;
        uint64_t calls, sent, received;
    } by[] = {{"MPI", 0, 0, 0}, {"NCCL", 0, 0, 0}};
    for (size_t i = 0; i < p->s->call_count; i++) {
        const struct ana_call_stat *c = &p->s->calls[i];
        bool nccl = trc_opclass_category(c->opclass) == TRC_CAT_NCCL;
        by[nccl].calls += c->times.count;
        by[nccl].sent += c->sent;
        by[nccl].received += c->received;
    }
    if (by[1].calls == 0)
        return;
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
        char sent[ANA_TEXT], received[ANA_TEXT];
        line(p, "%s: %" PRIu64 " calls, %s sent, %s received", by[i].name, by[i].calls,
             ana_number(sent, sizeof sent, ANA_BYTES, (double)by[i].sent, p->utf8),
             ana_number(received, sizeof received, ANA_BYTES, (double)by[i].received, p->utf8));
    }
}

static void calls_section(struct ana_page *p)
{
    static const struct ana_page_column columns[] = {
        ANA_COLUMN(-18, "call", CALL_NAME), ANA_COLUMN(8, "calls", CALL_COUNT),
        ANA_COLUMN(8, "time", CALL_TIME),   ANA_COLUMN(6, "wait", CALL_WAITING_OF_IT),
        ANA_COLUMN(9, "sent", CALL_SENT),   ANA_COLUMN(9, "received", CALL_RECEIVED),
        ANA_COLUMN(7, "p50", CALL_P50),     ANA_COLUMN(7, "p99", CALL_P99),
        ANA_COLUMN(7, "max", CALL_MAX),     {0, NULL, NULL}};
    if (p->s->call_count == 0)
        return;
    ana_page_table(p, "CALLS, by time", columns);
    size_t shown = ana_shown(p->s->call_count, MOST_ROWS);
    for (size_t i = 0; i < shown; i++) {
        ana_page_row(p, columns);
        ana_page_cells(p, &p->s->calls[i]);
    }
    ana_page_more(p, shown, p->s->call_count, "calls");
    libraries_line(p);
}

static void collectives_section(struct ana_page *p)
{
    static const struct ana_page_column columns[] = {
        ANA_COLUMN(-20, "call", COLLECTIVE_NAME),         {1, "", NULL},
        ANA_COLUMN(-13, "communicator", COLLECTIVE_COMM), ANA_COLUMN(10, "instances", COLLECTIVE_INSTANCES),
        ANA_COLUMN(9, "skew p50", COLLECTIVE_SKEW_P50),   ANA_COLUMN(8, "p99", COLLECTIVE_SKEW_P99),
        ANA_COLUMN(7, "lost", COLLECTIVE_LOST),           ANA_COLUMN(5, "last", COLLECTIVE_LAST),
        ANA_COLUMN(6, "in", COLLECTIVE_LAST_SHARE),       {0, NULL, NULL}};
    if (p->s->collective_count == 0)
        return;
    ana_page_table(p, "COLLECTIVES, by time lost waiting for the last (as a share of all ranks' time)", columns);
    size_t shown = ana_shown(p->s->collective_count, MOST_ROWS);
    for (size_t i = 0; i < shown; i++) {
        const struct ana_collective *c = &p->s->collectives[i];
        ana_page_row(p, columns);
        ana_page_cells(p, c);
        if (c->incomplete)
            fprintf(p->out, "    %" PRIu64 " more that not all ranks came to\n", c->incomplete);
    }
    ana_page_more(p, shown, p->s->collective_count, "collectives");
}

static void waits_section(struct ana_page *p)
{
    static const struct ana_page_column columns[] = {ANA_COLUMN(8, "rank", WAIT_CULPRIT),
                                                     {2, "", NULL},
                                                     {-18, "", NULL},
                                                     ANA_COLUMN(8, "rank", WAIT_WAITER),
                                                     ANA_COLUMN(10, "times", WAIT_COUNT),
                                                     ANA_COLUMN(10, "lost", WAIT_LOST),
                                                     {13, "of its time", NULL},
                                                     {0, NULL, NULL}};
    static const char *const kind[] = {"sends late to", "receives late from", "comes last for"};
    if (p->s->wait_count == 0)
        return;
    ana_page_table(p, "WHO WAITS FOR WHOM", columns);
    size_t shown = ana_shown(p->s->wait_count, MOST_ROWS);
    for (size_t i = 0; i < shown; i++) {
        const struct ana_wait *w = &p->s->waits[i];
        int64_t wall = 0;
        for (size_t k = 0; k < p->s->rank_count; k++)
            if (p->s->ranks[k].index == w->waiter)
                wall = ana_rank_seen_ns(&p->s->ranks[k]);
        ana_page_row(p, columns);
        ana_page_cells(p, w);
        ana_page_cell(p, kind[w->kind]);
        ana_page_cells(p, w);
        ana_page_number(p, ANA_SHARE, share_of(w->lost_ns, wall));
    }
    ana_page_more(p, shown, p->s->wait_count, "such pairs");
}

static int by_bytes(const void *a, const void *b)
{
    const struct ana_pair *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->messages != y->messages)
        return x->messages > y->messages ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->destination < y->destination ? -1 : 1;
}

static void pairs_section(struct ana_page *p)
{
    static const struct ana_page_column columns[] = {ANA_COLUMN(8, "from", PAIR_SOURCE),
                                                     ANA_COLUMN(8, "to", PAIR_DESTINATION),
                                                     ANA_COLUMN(11, "messages", PAIR_MESSAGES),
                                                     ANA_COLUMN(11, "bytes", PAIR_BYTES),
                                                     ANA_COLUMN(13, "latency min", PAIR_LATENCY_MIN),
                                                     ANA_COLUMN(8, "p50", PAIR_LATENCY_P50),
                                                     {0, NULL, NULL}};
    size_t n = p->s->pair_count, shown = ana_shown(n, MOST_ROWS);
    struct ana_pair *sorted = n ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted)
        return;
    memcpy(sorted, p->s->pairs, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_bytes);
    ana_page_table(p, "MESSAGES, by bytes", columns);
    for (size_t i = 0; i < shown; i++) {
        ana_page_row(p, columns);
        ana_page_cells(p, &sorted[i]);
    }
    ana_page_more(p, shown, n, "pairs");
    free(sorted);
}

static void sites_section(struct ana_page *p)
{
    static const struct ana_page_column columns[] = {ANA_COLUMN(-20, "call", SITE_CALL),
                                                     ANA_COLUMN(10, "calls", SITE_COUNT),
                                                     ANA_COLUMN(9, "time", SITE_TIME),
                                                     ANA_COLUMN(7, "ranks", SITE_RANKS),
                                                     {2, "", NULL},
                                                     {-31, "place", NULL},
                                                     {0, NULL, NULL}};
    if (p->s->site_count == 0)
        return;
    ana_page_table(p, "WHERE", columns);
    size_t shown = ana_shown(p->s->site_count, MOST_ROWS);
    for (size_t i = 0; i < shown; i++) {
        const struct ana_site *s = &p->s->sites[i];
        char address[32];
        snprintf(address, sizeof address, "0x%" PRIx64, s->address);
        const char *place = s->function && s->function[0] ? s->function
                            : s->module && s->module[0]   ? s->module
                                                          : address;
        if (place == s->module && strrchr(place, '/'))
            place = strrchr(place, '/') + 1;
        char known[128];
        if (s->line) {
            size_t name = s->function ? strcspn(s->function, "+") : 0;
            snprintf(known, sizeof known, "%s%s%.*s", s->line, name ? " in " : "", (int)name, name ? s->function : "");
            place = known;
        }
        ana_page_row(p, columns);
        ana_page_cells(p, s);
        ana_page_cell(p, place);
    }
    ana_page_more(p, shown, p->s->site_count, "places");
}

static bool any_fact(const struct ana_page *p, const char *key)
{
    for (size_t i = 0; i < p->s->rank_count; i++) {
        const struct ana_rank *r = ana_job_rank(p->job, p->s->ranks[i].index);
        if (r->file && trc_fact(r->file, key))
            return true;
    }
    return false;
}

/* What is not known, and what the tool itself did to the job. */
static void limits_section(const struct ana_page *p)
{
    char a[ANA_TEXT], b[ANA_TEXT];
    const struct ana_summary *s = p->s;
    fprintf(p->out, "\nWHAT THIS RESTS ON\n");
    line(p, "records lost: %" PRIu64 "; overwritten because of HPCTOP_LIMIT: %" PRIu64 " (still in all counts)",
         p->info.lost_records, p->info.recycled_records);
    line(p, "the recorder cost at most %s of a rank's time; clocks of ranks agree within %s",
         ana_number(a, sizeof a, ANA_SHARE, p->info.overhead_share, p->utf8),
         ana_number(b, sizeof b, ANA_NS, p->info.clock_error_s * 1e9, p->utf8));
    for (size_t i = 1; i < ana_job_clocks(p->job) && i < 9; i++) {
        struct ana_job_clock clock = ana_job_clock(p->job, i);
        line(p, "the wall clock of %s is %s %s that of %s (%s)", clock.host,
             ana_number(a, sizeof a, ANA_NS, fabs(clock.realtime_s) * 1e9, p->utf8),
             clock.realtime_s < 0 ? "behind" : "ahead of", ana_job_clock(p->job, 0).host,
             clock.fitted ? "from messages both ways" : "believed: no messages both ways");
    }
    if (any_fact(p, "nccl"))
        line(p, "times of NCCL's calls are those of the host; what its kernels took stands under NCCL, or why it is "
                "not known");
    if (s->analysed < 1)
        line(p, "waits, skews, places and latencies are of %s of the events",
             ana_number(a, sizeof a, ANA_SHARE, s->analysed, p->utf8));
    if (s->unmatched_sends || s->unmatched_receives || s->uncertain_messages)
        line(p,
             "messages without their other end: %" PRIu64 " sent, %" PRIu64 " received; not paired for sure: %" PRIu64,
             s->unmatched_sends, s->unmatched_receives, s->uncertain_messages);
    if (s->pair_overflow)
        line(p, "messages whose partner has no trace or could not be told: %" PRIu64, s->pair_overflow);
    if (s->call_overflow)
        line(p, "calls in the totals of their ranks only: %" PRIu64, s->call_overflow);
    if (s->clock_violations)
        line(p, "messages that seem to arrive before they leave: %" PRIu64 " (the clocks' error)", s->clock_violations);
    for (size_t i = p->info.other_jobs > 0; i < 10 && ana_job_warning(p->job, i); i++)
        line(p, "%s", ana_job_warning(p->job, i));
}

void ana_report_text(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out)
{
    struct ana_page page = {job, summary, ana_job_info(job), ana_whole_of(job, summary, NULL), utf8, out, NULL};
    job_section(&page);
    verdict_section(&page);
    ana_report_facts(job, out);
    efficiency_section(&page);
    ranks_section(&page);
    calls_section(&page);
    collectives_section(&page);
    ana_report_devices(&page);
    waits_section(&page);
    pairs_section(&page);
    sites_section(&page);
    limits_section(&page);
}
