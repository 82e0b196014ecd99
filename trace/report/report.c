#include "trace/report/report.h"
#include "trace/report/page.h"
#include "trace/horovod/horovod.h"
#include "trace/job/off.h"
#include "trace/members/process.h"
#include "trace/job/window.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- sections --------------------------------------------------------------------------------------------------- */

static void write_job(struct ana_page *p)
{
    const struct ana_job_info *i = &p->info;
    char elapsed[ANA_TEXT], start[64] = "", headline[512];
    time_t t = (time_t)(i->start_realtime_ns / 1000000000);
    struct tm tm;
    if (localtime_r(&t, &tm))
        strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S %z", &tm);
    ana_run_time(elapsed, sizeof elapsed, i->elapsed_ns);
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
        ana_page_line(p, "warning: %s", ana_job_warning(p->job, 0));
    static const char *const mark[2][3] = {{"OK", "->", "!!"}, {"\xe2\x9c\x93", "\xe2\x97\x8f", "\xe2\x9c\x97"}};
    enum ana_weight weight = ana_headline(p->job, p->s, NULL, headline, sizeof headline);
    fprintf(p->out, "\n");
    ana_page_line(p, "%s %s", mark[p->utf8][weight], headline);
    if (ana_headline_also(p->job, p->s, headline, sizeof headline))
        ana_page_line(p, "also: %s", headline);
}

/* Writes which library carried Horovod's gradients; nothing without Horovod. */
static void write_gradients(struct ana_page *p)
{
    char words[400];
    if (ana_hvd_gradients_words(ana_job_horovod(p->job), p->utf8, words, sizeof words))
        ana_page_line(p, "%s", words);
}

/* Writes who does what, why that is the verdict, and what to look at; nothing where nothing is wrong. */
static void write_verdict(struct ana_page *p)
{
    const struct ana_verdict *v = ana_job_verdict(p->job);
    if (!v)
        return;
    const size_t most = p->brief ? 4 : 8, facts = p->brief && v->facts > most ? most : v->facts;
    bool places = v->state != ANA_VERDICT_HEALTHY && v->state != ANA_VERDICT_SLOW;
    for (size_t i = 0; places && i < ana_shown(v->groups, most); i++) {
        const struct ana_verdict_group *g = &v->group[i];
        ana_page_line(p, "  %s: %s%s%s", g->who, g->doing, g->where[0] ? ", at " : "", g->where);
    }
    if (places)
        ana_page_more(p, ana_shown(v->groups, most), v->groups, "places");
    for (size_t i = 0; i < facts; i++)
        ana_page_line(p, "  why: %s", v->fact[i].text);
    if (v->next[0])
        ana_page_line(p, "  next: look at %s", v->next);
}

static void write_efficiency(const struct ana_page *p)
{
    const struct ana_efficiency *e = &p->s->efficiency;
    if (ana_has_filter(&p->s->selection))
        return;
    fprintf(p->out, "\n  parallel efficiency %s = load balance %s x communication %s",
            ANA_NUMBER(ANA_SHARE, e->parallel, p->utf8), ANA_NUMBER(ANA_SHARE, e->load_balance, p->utf8),
            ANA_NUMBER(ANA_SHARE, e->communication, p->utf8));
    if (!isnan(e->processor))
        fprintf(p->out, "\n                            x processor %s", ANA_NUMBER(ANA_SHARE, e->processor, p->utf8));
    fprintf(p->out, "\n");
    if (!isnan(e->transfer))
        fprintf(p->out, "  communication = serialisation %s (waiting) x transfer %s (the calls)\n",
                ANA_NUMBER(ANA_SHARE, e->serialisation, p->utf8), ANA_NUMBER(ANA_SHARE, e->transfer, p->utf8));
}

/* Writes the account of time: all time of all ranks, by account. */
static void write_accounts(struct ana_page *p)
{
    const struct ana_account *all = &p->s->account;
    if (!p->s->has_accounts || ana_account_total(all) == 0)
        return;
    fprintf(p->out, "\nWHERE THE TIME WENT\n");
    ana_page_line(p, "%s of %zu rank%s, %s", ANA_SPOKEN((double)ana_account_total(all)), p->s->rank_count,
                  p->s->rank_count == 1 ? "" : "s", p->s->exact ? "from first to last sign of life" : "in this window");
    for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++)
        if (all->ns[id])
            fprintf(p->out, "  %-9s %6s %6s  %s\n", ana_account_key(id),
                    ANA_NUMBER(ANA_NS, (double)all->ns[id], p->utf8),
                    ANA_NUMBER(ANA_SHARE, ana_account_share(all, id), p->utf8), ana_account_help(id));
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

/* Writes when recording was switched off. */
static void write_off(const struct ana_page *p)
{
    enum { MOST = 3 };
    struct ana_offs offs;
    char words[400];
    if (!ana_offs_find(p->job, &offs))
        return;
    for (size_t i = 0; i < ana_shown(offs.count, MOST); i++) {
        ana_off_words(p->job, &offs.off[i], words, sizeof words);
        ana_page_line(p, "%s", words);
    }
    ana_page_more(p, ana_shown(offs.count, MOST), offs.count, "times");
    if (offs.times)
        ana_page_line(p, "what ranks did in these %s is not known, and in no count, time or share (off_s in JSON)",
                      ANA_SPOKEN((double)offs.all_ns));
    ana_offs_free(&offs);
}

/* Writes the unknowns, and the recorder's own cost to the job. */
static void write_limits(struct ana_page *p)
{
    const struct ana_summary *s = p->s;
    fprintf(p->out, "\nWHAT THIS RESTS ON\n");
    ana_page_line(p,
                  "records lost: %" PRIu64 "; overwritten because of HPCTOP_LIMIT: %" PRIu64 " (still in all counts)",
                  p->info.lost_records, p->info.recycled_records);
    write_off(p);
    if (p->info.unknown_requests)
        ana_page_line(p, "requests not followed: %" PRIu64 "; bytes received by such are lower bounds (%s)",
                      p->info.unknown_requests, p->utf8 ? "\u2265" : ">=");
    ana_page_line(p, "the recorder cost at most %s of a rank's time; clocks of ranks agree within %s",
                  ANA_NUMBER(ANA_SHARE, p->info.overhead_share, p->utf8),
                  ANA_NUMBER(ANA_NS, p->info.clock_error_s * 1e9, p->utf8));
    for (size_t i = 1; !p->brief && i < ana_job_clocks(p->job) && i < 9; i++) {
        struct ana_job_clock clock = ana_job_clock(p->job, i);
        ana_page_line(p, "the wall clock of %s is %s %s that of %s (%s)", clock.host,
                      ANA_NUMBER(ANA_NS, fabs(clock.realtime_s) * 1e9, p->utf8),
                      clock.realtime_s < 0 ? "behind" : "ahead of", ana_job_clock(p->job, 0).host,
                      clock.fitted ? "from messages both ways" : "believed: no messages both ways");
    }
    if (any_fact(p, "nccl"))
        ana_page_line(
            p, "times of NCCL's calls are those of the host; what its kernels took stands under NCCL, or why it is "
               "not known");
    if (s->analysed < 1)
        ana_page_line(p, "waits, skews, places and latencies are of %s of the events",
                      ANA_NUMBER(ANA_SHARE, s->analysed, p->utf8));
    if (s->unmatched_sends || s->unmatched_receives || s->uncertain_messages)
        ana_page_line(p,
                      "messages without their other end: %" PRIu64 " sent, %" PRIu64
                      " received; not paired for sure: %" PRIu64,
                      s->unmatched_sends, s->unmatched_receives, s->uncertain_messages);
    if (s->pair_overflow)
        ana_page_line(p, "messages whose partner has no trace or could not be told: %" PRIu64, s->pair_overflow);
    if (s->call_overflow)
        ana_page_line(p, "calls in the totals of their ranks only: %" PRIu64, s->call_overflow);
    if (s->clock_violations)
        ana_page_line(p, "messages that seem to arrive before they leave: %" PRIu64 " (the clocks' error)",
                      s->clock_violations);
    for (size_t i = p->info.other_jobs > 0; i < 10 && ana_job_warning(p->job, i); i++)
        ana_page_line(p, "%s", ana_job_warning(p->job, i));
}

void ana_report_text(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out)
{
    struct ana_page page;
    ana_page_open(&page, job, summary, utf8, out);
    write_job(&page);
    write_verdict(&page);
    write_gradients(&page);
    ana_page_facts(&page);
    ana_page_window(&page);
    write_efficiency(&page);
    write_accounts(&page);
    for (const struct ana_page_part *part = ana_page_parts; part->name; part++)
        part->write(&page);
    write_limits(&page);
}

const char *ana_report_table_name(size_t i, bool csv)
{
    return csv && ana_page_parts[i].prose ? "" : ana_page_parts[i].name;
}

void ana_report_table(const struct ana_job *job, const struct ana_summary *summary, const char *name, bool csv,
                      bool utf8, FILE *out)
{
    struct ana_page page;
    FILE *text = csv ? fopen("/dev/null", "w") : out;
    ana_page_open(&page, job, summary, utf8, text);
    page.whole_tables = true;
    page.csv = csv ? out : NULL;
    for (const struct ana_page_part *part = ana_page_parts; text && part->name; part++)
        if (strcmp(part->name, name) == 0)
            part->write(&page);
    if (csv && text)
        fclose(text);
}

/* Writes a section if it has at most `room` lines; returns how many it has written. */
static size_t write_section(struct ana_page *page, ana_section *section, size_t room, FILE *out)
{
    char *text = NULL;
    size_t size = 0, lines = 0;
    page->out = open_memstream(&text, &size);
    if (!page->out)
        return 0;
    section(page);
    if (fclose(page->out) == 0)
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            lines++;
    if (lines > 0 && lines <= room)
        fwrite(text, 1, size, out);
    free(text);
    return lines <= room ? lines : 0;
}

void ana_report_brief(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out)
{
    enum { LINES = 60, LAST = 10 }; /* lines of the page; lines for its last sections */
    static ana_section *const first[] = {write_job, write_verdict, write_gradients, ana_page_window, write_accounts};
    struct ana_page page;
    size_t room = LINES - LAST;
    ana_page_open(&page, job, summary, utf8, out);
    page.brief = true;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        room -= write_section(&page, first[i], room, out);
    for (ana_section *const *section = ana_page_brief; *section; section++)
        room -= write_section(&page, *section, room, out);
    write_section(&page, write_limits, room + LAST - 1, out);
    fprintf(out, "  more: report --all, or one table whole: report --table calls\n");
}
