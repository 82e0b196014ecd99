/* Two runs side by side: the answer first, then what got slower, what got faster, and what only follows from these. */
#include "trace/report/report.h"
#include "trace/report/page.h"
#include "trace/util/sort.h"
#include <inttypes.h>
#include <string.h>

#define MOST             20 /* findings of a kind */
#define WIDTH            36 /* of places */
#define WORDS            43 /* columns left of a line behind an account */
#define MOST_PLACES      5
#define LEAST_OUTSIDE_NS 1e8

/* ---- columns that are no metrics -------------------------------------------------------------------------------- */

static void put_where(const void *row, char *out, size_t size)
{
    ana_diff_words(row, out, size);
}

static void put_ranks(const void *row, char *out, size_t size)
{
    ana_diff_ranks(row, out, size);
}

static void put_change(const void *row, char *out, size_t size)
{
    ana_diff_change(row, out, size);
}

static void put_sure(const void *row, char *out, size_t size)
{
    const struct ana_diff_finding *f = row;
    ana_diff_sure(f->confidence, out, size);
}

/* The whole place, below a row that had no room for it. */
static void put_long_where(struct ana_page *p, const void *row)
{
    char words[400];
    ana_diff_words(row, words, sizeof words);
    if (strlen(words) > WIDTH)
        fprintf(p->out, "    %s\n", words);
}

static const struct ana_column columns[] = {
    ANA_COLUMN_WORDS(-WIDTH, "WHERE", put_where), ANA_COLUMN_GAP(1),
    ANA_COLUMN_WORDS(-8, "RANKS", put_ranks),     ANA_COLUMN(8, "BEFORE", CHANGE_BEFORE),
    ANA_COLUMN(8, "AFTER", CHANGE_AFTER),         ANA_COLUMN_WORDS(9, "CHANGE", put_change),
    ANA_COLUMN_WORDS(9, "SURE", put_sure)};

/* ---- sentences -------------------------------------------------------------------------------------------------- */

static void put_run(const struct ana_page *p, const char *letter, const struct ana_diff_run *run)
{
    char iterations[64] = "no iterations";
    if (run->iterations)
        snprintf(iterations, sizeof iterations, "%" PRIu64 " iterations compared", run->iterations);
    const char *comma = *run->part ? ", " : "", *plural = run->ranks == 1 ? "" : "s";
    fprintf(p->out, "%s  %s%s%s  %zu rank%s, %s, %s\n", letter, run->name, comma, run->part, run->ranks, plural,
            iterations, ANA_SPOKEN((double)run->elapsed_ns));
}

static void put_answer(const struct ana_page *p, const struct ana_diff *d)
{
    char answer[300], account[600];
    ana_diff_answer(d, answer, sizeof answer);
    fprintf(p->out, "%s\n", answer);
    ana_diff_account(d, account, sizeof account);
    if (*account)
        ana_page_line(p, "%s", account);
}

static void put_scaling(const struct ana_page *p, const struct ana_diff *d)
{
    bool strong = d->scaling == ANA_SCALING_STRONG;
    if (d->scaling == ANA_SCALING_NONE)
        return;
    fprintf(p->out, "\nSCALING, %s\n",
            strong ? "strong: all ranks together compute about as long" : "weak: each rank computes about as long");
    ana_page_line(p,
                  "from %zu to %zu ranks: computation scaling %.1f %%, speedup %.2f, efficiency %.1f %%.  The times "
                  "below are %s.",
                  d->run[0].ranks, d->run[1].ranks, 100 * d->computation_scaling, d->speedup, 100 * d->efficiency,
                  strong ? "of all ranks together" : "means of a rank");
}

static void put_outside(const struct ana_page *p, const struct ana_diff *d)
{
    double most = fmax(ANA_DIFF_UNSURE * (double)d->run[0].elapsed_ns, LEAST_OUTSIDE_NS);
    if (!d->looped || *d->run[0].part || *d->run[1].part || fabs(d->run[1].outside_ns - d->run[0].outside_ns) < most)
        return;
    fprintf(p->out, "\n");
    ana_page_line(p, "before and after the iterations: B %s, A %s; that happens once: without confidence",
                  ANA_SPOKEN(d->run[1].outside_ns), ANA_SPOKEN(d->run[0].outside_ns));
}

/* ---- accounts --------------------------------------------------------------------------------------------------- */

static void put_account(const struct ana_page *p, const char *name, int64_t before_ns, int64_t after_ns,
                        const char *words)
{
    char more[ANA_TEXT];
    const int64_t more_ns = after_ns - before_ns;
    ana_number(more, sizeof more, ANA_NS, (double)llabs(more_ns), p->utf8);
    fprintf(p->out, "  %-9s %7s %7s %c%-7s %.*s\n", name, ANA_NUMBER(ANA_NS, (double)before_ns, p->utf8),
            ANA_NUMBER(ANA_NS, (double)after_ns, p->utf8), more_ns < 0 ? '-' : '+', more, WORDS, words);
}

/* Writes the difference of two accounts: of the runs, and of the call sites where it is largest. */
static void put_accounts(const struct ana_page *p, const struct ana_diff *d)
{
    const struct ana_diff_accounts *a = &d->accounts;
    char words[400];
    if (!a->known)
        return;
    fprintf(p->out, "\nWHERE THE TIME WENT, all ranks of both runs\n  %-9s %7s %7s %s\n", "", "BEFORE", "AFTER",
            "CHANGE");
    for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++)
        if (a->run[0].ns[id] || a->run[1].ns[id])
            put_account(p, ana_account_key(id), a->run[0].ns[id], a->run[1].ns[id], ana_account_words(id));
    if (a->places)
        fprintf(p->out, "\nCALLS WHERE IT CHANGED MOST\n");
    for (size_t i = 0; i < a->places && i < MOST_PLACES; i++) {
        const struct ana_diff_place *place = &a->place[i];
        snprintf(words, sizeof words, "%s at %s", place->at.call, place->at.place);
        put_account(p, ana_account_key(place->id), place->ns[0], place->ns[1], words);
    }
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static int part_of(const struct ana_diff_finding *f)
{
    return f->follows ? 2 : f->machine ? 3 : f->after_ns < f->before_ns;
}

ANA_COMPARE(by_size, struct ana_diff_finding,
            ANA_ORDER(fabs(y->after_ns - y->before_ns), fabs(x->after_ns - x->before_ns)))

/* Writes those findings that belong to a part, the largest first. */
static void put_part(struct ana_page *p, const struct ana_diff *d, int part, const char *title)
{
    size_t n = 0;
    struct ana_diff_finding *of = calloc(d->findings + 1, sizeof *of);
    for (size_t i = 0; of && i < d->findings; i++)
        if (part_of(&d->finding[i]) == part)
            of[n++] = d->finding[i];
    if (n)
        ana_sort(of, n, sizeof *of, by_size);
    if (of)
        ana_page_table(p, title, (struct ana_table)ANA_TABLE(columns, of, n), MOST, "places", put_long_where);
    free(of);
}

void ana_diff_text(const struct ana_diff *d, const struct ana_job *job, bool utf8, FILE *out)
{
    static const struct ana_summary nothing;
    struct ana_page page;
    ana_page_open(&page, job, &nothing, utf8, out);
    put_answer(&page, d);
    put_run(&page, "A", &d->run[0]);
    put_run(&page, "B", &d->run[1]);
    put_scaling(&page, d);
    put_accounts(&page, d);
    put_part(&page, d, 0, !d->looped ? "SLOWER, time of the run" : "SLOWER, time of an iteration");
    put_part(&page, d, 1, !d->looped ? "FASTER, time of the run" : "FASTER, time of an iteration");
    put_part(&page, d, 2, "FOLLOWS from these: ranks that wait longer or less for others");
    put_part(&page, d, 3, "PERHAPS THE MACHINE: ranks waited for a processor");
    put_outside(&page, d);
    size_t sure = 0;
    for (size_t i = 0; i < d->findings; i++)
        sure += !isnan(d->finding[i].confidence);
    if (d->looped)
        fprintf(out, "\n%zu differences were looked at; %s%g %% or more\n", d->compared,
                sure ? "those with a number are sure by " : "none is sure by ", 100 * ANA_DIFF_SURE);
}
