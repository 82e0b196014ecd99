/* The report's tables of GPUs and NCCL; nothing where there were none. */
#include "trace/gpu/device.h"
#include "trace/util/numfmt.h"
#include "trace/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST 12

struct column {
    int width; /* negative: to the left; 0: past the last */
    const char *title;
};

/* One line of a table: texts in the widths of its columns. */
struct line {
    FILE *out;
    bool utf8;
    const struct column *next;
};

static void put(struct line *l, const char *text)
{
    char out[256];
    int width = l->next++->width;
    bool last = l->next->width == 0;
    if (last && width < 0 && (int)strlen(text) < -width)
        fputs(text, l->out);
    else
        fputs(ana_column(out, sizeof out, text, abs(width), width > 0), l->out);
    if (last)
        fputc('\n', l->out);
}

static void put_number(struct line *l, enum ana_unit unit, double value)
{
    char text[ANA_TEXT];
    put(l, ana_number(text, sizeof text, unit, value, l->utf8));
}

static void put_count(struct line *l, uint64_t value)
{
    char text[ANA_TEXT];
    snprintf(text, sizeof text, "%" PRIu64, value);
    if ((int)strlen(text) >= abs(l->next->width))
        ana_number(text, sizeof text, ANA_COUNT, (double)value, l->utf8);
    put(l, text);
}

static void begin(struct line *l, const struct column *columns)
{
    l->next = columns;
    fputc(' ', l->out);
}

static void title(struct line *l, const char *name, const struct column *columns)
{
    fprintf(l->out, "\n%s\n", name);
    begin(l, columns);
    for (const struct column *c = columns; c->width; c++)
        put(l, c->title);
}

static void more(const struct line *l, size_t all, const char *what)
{
    if (all > ana_shown(all, MOST))
        fprintf(l->out, "  ... %zu more %s\n", all - MOST, what);
}

static double known(uint64_t value)
{
    return value == UINT64_MAX ? NAN : (double)value;
}

static void nccl(struct line *l, const struct ana_gpu_look *look)
{
    static const struct column columns[] = {{-18, "operation"}, {-16, "communicator"}, {7, "calls"},
                                            {8, "size"},        {9, "algbw"},          {9, "busbw"},
                                            {9, "transfer"},    {8, "skew"},           {0, NULL}};
    if (look->nccl_count == 0)
        return;
    title(l, "NCCL, bytes/s as nccl-tests; transfer: shortest kernel of the ranks, skew: longest less it", columns);
    for (size_t i = 0; i < ana_shown(look->nccl_count, MOST); i++) {
        const struct ana_nccl_stat *s = &look->nccl[i];
        begin(l, columns);
        put(l, s->call);
        put(l, s->comm_name);
        put_count(l, s->calls);
        put_number(l, ANA_BYTES, s->calls ? known(s->bytes) / (double)s->calls : NAN);
        put_number(l, ANA_BYTES, s->algbw);
        put_number(l, ANA_BYTES, s->busbw);
        put_number(l, ANA_NS, s->transfer_p50_ns);
        put_number(l, ANA_NS, s->skew_p50_ns);
    }
    more(l, look->nccl_count, "kinds");
}

static void kernels(struct line *l, const struct ana_gpu_look *look)
{
    static const struct column columns[] = {{-38, "kernel"}, {8, "calls"}, {8, "time"}, {8, "p50"},
                                            {8, "max"},      {6, "ranks"}, {0, NULL}};
    if (look->kernel_count == 0)
        return;
    title(l, "KERNELS, by time", columns);
    for (size_t i = 0; i < ana_shown(look->kernel_count, MOST); i++) {
        const struct ana_kernel_stat *k = &look->kernels[i];
        char words[256];
        ana_kernel_words(k->name, words, sizeof words);
        begin(l, columns);
        put(l, words);
        put_count(l, k->times.count);
        put_number(l, ANA_NS, (double)k->times.total_ns);
        put_number(l, ANA_NS, k->times.p50_ns);
        put_number(l, ANA_NS, k->times.max_ns);
        put_count(l, k->ranks);
    }
    more(l, look->kernel_count, "kernels");
}

static void gpus(struct line *l, const struct ana_job *job, const struct ana_gpu_look *look)
{
    static const struct column columns[] = {{5, "rank"},    {9, "compute"}, {9, "NCCL"},
                                            {9, "overlap"}, {9, "exposed"}, {9, "copies"},
                                            {9, "idle"},    {10, "copied"}, {0, NULL}};
    if (look->rank_count == 0)
        return;
    title(l, "GPUS, shares of the run; exposed: NCCL with no computation beside it", columns);
    for (size_t i = 0; i < ana_shown(look->rank_count, MOST); i++) {
        const struct ana_gpu_rank *r = &look->ranks[i];
        const struct ana_rank *rank = ana_job_rank(job, r->index);
        double wall = r->wall_ns > 0 ? (double)r->wall_ns : NAN;
        char name[32];
        snprintf(name, sizeof name, "%" PRId32, rank ? rank->rank : -1);
        begin(l, columns);
        put(l, name);
        put_number(l, ANA_SHARE, (double)r->compute_ns / wall);
        put_number(l, ANA_SHARE, (double)r->communication_ns / wall);
        put_number(l, ANA_SHARE, ana_gpu_overlap(r));
        put_number(l, ANA_SHARE, (double)(r->communication_ns - r->overlap_ns) / wall);
        put_number(l, ANA_SHARE, (double)r->copy_ns / wall);
        put_number(l, ANA_SHARE, fmax(1 - (double)r->busy_ns / wall, 0));
        put_number(l, ANA_BYTES, (double)(r->to_device + r->from_device + r->other_bytes));
    }
    more(l, look->rank_count, "ranks");
}

void ana_report_devices(const struct ana_job *job, bool utf8, FILE *out)
{
    struct ana_gpu_look look;
    struct line l = {out, utf8, NULL};
    if (!ana_gpu_take_whole(job, &look))
        return;
    nccl(&l, &look);
    kernels(&l, &look);
    gpus(&l, job, &look);
    if (look.copies) {
        char bytes[ANA_TEXT];
        fprintf(out, "  copies: %" PRIu64 ", %s\n", look.copies,
                ana_number(bytes, sizeof bytes, ANA_BYTES, (double)look.copied, utf8));
    }
    if (look.why_not[0])
        fprintf(out, "  %s\n", look.why_not);
    if (look.unmatched)
        fprintf(out, "  kernels of NCCL whose calls were not seen: %" PRIu64 "\n", look.unmatched);
    ana_gpu_look_free(&look);
}
