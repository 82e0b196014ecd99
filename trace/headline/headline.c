/* The headline: the troubles of the job, the worst first. */
#include "trace/gpu/device.h"
#include "trace/job/comms.h"
#include "trace/job/inside.h"
#include "trace/job/off.h"
#include "trace/job/upper.h"
#include "trace/members/members.h"
#include "trace/util/trouble.h"
#include "trace/headline/headline_impl.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARES (2 * ANA_TEXT + 32) /* bytes for the text of two shares */

void ana_line_write(struct ana_line line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(line.out, line.size, format, args);
    va_end(args);
}

/* Writes about files that are cut off, or whose counters are damaged. */
static bool write_damaged(const struct ana_job *job, struct ana_line line)
{
    const struct ana_members *members = ana_job_members(job);
    size_t n = 0, first = 0;
    for (size_t i = 0; i < members->count; i++)
        if (!members->process[i].rank.counted && n++ == 0)
            first = i;
    if (n == 0)
        return false;
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, " (and of %zu more)", n - 1);
    ana_line_write(line, "the trace file of rank %s%s is %s: what it did is not known", ana_rank_label(job, first).text,
                   more, trc_truncated(members->process[first].rank.file) ? "cut off" : "damaged");
    return true;
}

/* Writes about files that somebody changed while they were read. */
static bool write_spoilt(const struct ana_job *job, struct ana_line line)
{
    const struct ana_members *members = ana_job_members(job);
    size_t n = 0;
    for (size_t i = 0; i < members->count; i++)
        n += trc_spoilt(members->process[i].rank.file);
    if (n)
        ana_line_write(
            line,
            "%zu of %zu trace files were truncated or overwritten since they were opened: what was read before is "
            "shown, nothing more is known",
            n, members->count);
    return n > 0;
}

static bool write_record(const struct ana_job *job, struct ana_line line)
{
    const struct ana_members *members = ana_job_members(job);
    if (write_spoilt(job, line) || write_damaged(job, line))
        return true;
    for (size_t i = 0; i < members->count; i++) {
        const struct trc_head *head = trc_head(members->process[i].rank.file);
        if (head->state == TRC_STATE_STOPPED || head->error[0]) {
            ana_line_write(line, "rank %s stopped recording: %s", ana_rank_label(job, i).text,
                           head->error[0] ? head->error : "no reason given");
            return true;
        }
    }
    struct ana_job_info info = ana_job_info(job);
    if (info.ranks < info.world_size) {
        const char *error = ana_bundle_error(&members->bundle);
        if (error) {
            ana_line_write(line, "%zu of %zu ranks have no trace file that can be read: %s",
                           info.world_size - info.ranks, info.world_size, error);
            return true;
        }
        char ranks[192];
        ana_absent_words(job, ranks, sizeof ranks);
        ana_line_write(line, "no trace file here of %s: what they did is not known", ranks);
        return true;
    }
    if (info.lost_records) {
        char n[ANA_TEXT];
        ana_number(n, sizeof n, ANA_COUNT, (double)info.lost_records, false);
        ana_line_write(line, "%s records were lost: counts and bytes are right, waits and the timeline have holes", n);
        return true;
    }
    return false;
}

static double all_time(const struct ana_summary *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        sum += (double)ana_rank_time_ns(&s->ranks[i]);
    return sum;
}

static double mpi_time(const struct ana_summary *s)
{
    double sum = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        sum += (double)s->ranks[i].mpi_ns;
    return sum;
}

static bool write_imbalance(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    const struct ana_efficiency *e = &s->efficiency;
    if (!(e->communication * (1 - e->load_balance) >= NOTABLE_IMBALANCE) || s->rank_count < 2)
        return false;
    size_t busiest = 0;
    double compute_ns = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        compute_ns += (double)s->ranks[i].category_ns[TRC_CAT_COMPUTE];
        if (s->ranks[i].category_ns[TRC_CAT_COMPUTE] > s->ranks[busiest].category_ns[TRC_CAT_COMPUTE])
            busiest = i;
    }
    const double longest_ns = (double)s->ranks[busiest].category_ns[TRC_CAT_COMPUTE];
    if (!ana_is_much(s, longest_ns * (double)s->rank_count - compute_ns))
        return false;
    ana_line_write(line, "work is uneven: load balance %s, rank %s computes longest", ana_share(e->load_balance).text,
                   ana_rank_label(job, s->ranks[busiest].index).text);
    return true;
}

/* Activity of all GPUs together. */
struct gpus {
    double wall, busy, compute, exposed;
};

static struct gpus sum_gpus(const struct ana_gpu_summary *look)
{
    struct gpus sum = {0};
    for (size_t i = 0; look && look->known && i < look->rank_count; i++) {
        const struct ana_gpu_rank *r = &look->ranks[i];
        sum.wall += (double)r->wall_ns;
        sum.busy += (double)r->busy_ns;
        sum.compute += (double)r->compute_ns;
        sum.exposed += (double)(r->communication_ns - r->overlap_ns);
    }
    return sum;
}

static struct ana_figure share_of(double part, double whole)
{
    return ana_share(fmin(part / whole, 1));
}

/* Writes about exposed communication, where it costs more than ranks lose waiting in MPI. */
static bool write_exposed(const struct ana_summary *s, const struct gpus *gpus, struct ana_line line)
{
    double exposed = gpus->exposed / gpus->wall, lost = ana_lost_share(s);
    if (!(exposed >= NOTABLE_EXPOSED) || exposed < lost)
        return false;
    ana_line_write(line, "communication is not hidden: NCCL alone takes %s of the GPUs' time, computation %s",
                   share_of(gpus->exposed, gpus->wall).text, share_of(gpus->compute, gpus->wall).text);
    return true;
}

static void write_fine(const struct ana_summary *s, const struct gpus *gpus, struct ana_line line)
{
    char device[ANA_TEXT + 16] = "";
    if (gpus->wall > 0)
        snprintf(device, sizeof device, ", GPUs busy %s", share_of(gpus->busy, gpus->wall).text);
    if (ana_is_mostly_start(s) || !ana_is_much(s, all_time(s)))
        ana_line_write(line, "nothing stands out: too short, %s of %s is between MPI_Init and MPI_Finalize",
                       ana_time(all_time(s) / (double)s->rank_count).text,
                       ana_time((double)(s->end_ns - s->begin_ns)).text);
    else if (isnan(s->efficiency.parallel))
        ana_line_write(line, "nothing stands out%s", device);
    else
        ana_line_write(line, "nothing stands out: %s parallel efficiency, %s in MPI%s",
                       ana_share(s->efficiency.parallel).text, share_of(mpi_time(s), all_time(s)).text, device);
}

/* Writes when recording was switched off, where nothing else is worth a line. */
static bool write_off(const struct ana_job *job, struct ana_line line)
{
    struct ana_offs offs;
    char words[400];
    if (!ana_offs_find(job, &offs) || !offs.count)
        return false;
    ana_off_words(job, &offs.off[0], words, sizeof words);
    if (offs.times > 1 && offs.count > 1)
        ana_line_write(line, "%s; %zu times more", words, offs.count - 1);
    else
        ana_line_write(line, "%s", words);
    ana_offs_free(&offs);
    return true;
}

/* Whether no event of a time range has been read: an unknown state is not a fine one. */
static bool is_ahead(const struct ana_job *job, const struct ana_summary *s)
{
    const struct ana_members *members = ana_job_members(job);
    return !s->exact && (s->analysed <= 0 || (members->horizon_ns != INT64_MAX && s->begin_ns >= members->horizon_ns));
}

/* A wait that is much longer than usual is worth a word before it counts as hung. */
static bool write_verdict(const struct ana_job *job, struct ana_line line, enum ana_weight *weight)
{
    const struct ana_verdict *verdict = ana_job_verdict(job);
    if (!verdict)
        return false;
    bool trouble = verdict->state == ANA_VERDICT_HUNG || verdict->state == ANA_VERDICT_ABORTED;
    bool waits = verdict->state == ANA_VERDICT_WAITING || verdict->state == ANA_VERDICT_STOPPED;
    *weight = trouble ? ANA_TROUBLE : ANA_NOTABLE;
    waits |= verdict->id == ANA_CLASS_STRAGGLER && ana_job_straggler(job)->lately;
    bool unsure = verdict->state == ANA_VERDICT_UNKNOWN;
    if (unsure && write_spoilt(job, line))
        return true;
    if (trouble || waits || unsure)
        ana_verdict_headline(verdict, line.out, line.size);
    return trouble || waits || unsure;
}

/* Writes the two shares that live pages have: ": load balance 95%, 4% in MPI"; "" where they are unknown, or the run is
 * too short for them. */
static void write_shares(const struct ana_summary *s, char out[SHARES])
{
    out[0] = 0;
    if (!isnan(s->efficiency.load_balance) && ana_is_much(s, all_time(s)))
        snprintf(out, SHARES, ": load balance %s, %s in MPI", ana_share(s->efficiency.load_balance).text,
                 share_of(mpi_time(s), all_time(s)).text);
}

/* Writes the headline while no event is read. */
static enum ana_weight write_counters(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    char more[SHARES];
    if (write_imbalance(job, s, line))
        return ANA_NOTABLE;
    write_shares(s, more);
    ana_line_write(line, "who waits for whom is not read yet%s", more);
    return ANA_FINE;
}

bool ana_headline_also(const struct ana_job *job, const struct ana_summary *s, char *out, size_t size)
{
    struct ana_line line = {out, size};
    char first[512];
    enum ana_weight weight;
    struct ana_line before = {first, sizeof first};
    if (write_verdict(job, before, &weight) || is_ahead(job, s))
        return false;
    if (!ana_write_still(job, s, before) && !ana_write_account(job, s, before))
        return false;
    return ana_write_loss(job, s, line, &weight) || write_imbalance(job, s, line);
}

enum ana_weight ana_headline(const struct ana_job *job, const struct ana_summary *summary,
                             const struct ana_gpu_summary *gpu, char *out, size_t out_size)
{
    struct ana_line line = {out, out_size};
    struct ana_gpu_summary whole = {0};
    enum ana_weight weight;
    if (write_verdict(job, line, &weight))
        return weight;
    if (write_record(job, line) ||
        (ana_job_members(job)->state == ANA_RUNNING && ana_write_longest_inside(job, out, out_size)))
        return ANA_NOTABLE;
    if (summary->counters_only)
        return write_counters(job, summary, line);
    if (is_ahead(job, summary)) {
        ana_line_write(line, "not analysed yet: the events of this window are still to be read");
        return ANA_FINE;
    }
    if (!gpu && summary->exact && !summary->selection.ranks && ana_gpu_summarize_all(job, &whole))
        gpu = &whole;
    struct gpus gpus = sum_gpus(gpu);
    ana_gpu_summary_free(&whole);
    if (write_exposed(summary, &gpus, line))
        return ANA_NOTABLE;
    if (ana_write_still(job, summary, line) || ana_write_account(job, summary, line))
        return ANA_NOTABLE;
    if (ana_write_loss(job, summary, line, &weight))
        return weight;
    if (write_imbalance(job, summary, line) || ana_write_asleep(summary, line))
        return ANA_NOTABLE;
    if (!write_off(job, line))
        write_fine(summary, &gpus, line);
    return ANA_FINE;
}

/* Writes how many ranks finished, and the two shares that live pages have. */
static void write_finished(const struct ana_job *job, const struct ana_summary *s, struct ana_line line)
{
    const struct ana_job_info info = ana_job_info(job);
    char more[SHARES];
    write_shares(s, more);
    ana_line_write(line, "%zu rank%s finished after %s%s", info.ranks, info.ranks == 1 ? "" : "s",
                   ana_time((double)info.elapsed_ns).text, more);
}

enum ana_weight ana_headline_finished(const struct ana_job *job, const struct ana_summary *counters, char *out,
                                      size_t out_size)
{
    struct ana_line line = {out, out_size};
    if (write_record(job, line))
        return ANA_NOTABLE;
    if (!write_off(job, line))
        write_finished(job, counters, line);
    return ANA_FINE;
}
