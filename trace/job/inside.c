/* Calls that ranks are inside now, in words, and the one that keeps a running job waiting. */
#include "trace/job/inside.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/util/numfmt.h"
#include <stdio.h>
#include <string.h>

#define LONG_NS      2000000000 /* a shorter call is not worth a word */
#define AGREED_NS    1000000000 /* limit if most of the others wait as well, and nobody gets on */
#define MOST(n)      ((n) - (n) / 4)
#define WAIT_NS      200000000  /* a shorter wait of the others may be any */
#define SURE_NS      500000000  /* wait that a rank's heartbeats must have told: it may be over since */
#define UNHEARD_NS   1500000000 /* older news of a rank say nothing about now */
#define TIMES_LONGER 10.0       /* factor over the usual duration of such calls on that rank */
#define TOLD_NS      100000000  /* delay until the digests of most nodes tell of a wait */
#define AGAIN_NS     250000000  /* further delay until a few more do */
#define FEW(n)       ((n) / 8)  /* waiting ranks that suffice before all digests tell of a wait */

/* Whether the call was given a communicator that does not exist, or whose making was not seen. */
static bool lacks_comm(const struct trc_file *file, const struct trc_sig *sig)
{
    const enum trc_opclass opclass = (enum trc_opclass)trc_call(file, sig->call)->opclass;
    return !sig->comm && !(sig->flags & TRC_SIG_NESTED) && trc_opclass_is(opclass, TRC_FACT_SCALAR) &&
           trc_opclass_moves_data(opclass);
}

/* Appends " on NAME", empty for MPI_COMM_WORLD and without a communicator. */
static void add_comm(const struct ana_job *job, size_t index, const struct trc_sig *sig, char *out, size_t size)
{
    const struct trc_file *file = ana_job_members(job)->process[index].rank.file;
    const struct trc_comm *comm = sig->comm ? trc_comm(file, sig->comm) : NULL;
    char name[120];
    *out = 0;
    if (!comm && lacks_comm(file, sig))
        snprintf(out, size, " on an unknown communicator (freed, null, or never recorded)");
    if (!comm || comm->def.flags & TRC_COMM_WORLD)
        return;
    ana_comm_words(job, comm, name, sizeof name);
    snprintf(out, size, " on %s", name);
}

/* Appends " to rank 3, tag 7", or "from"; nothing where there is no partner. */
static void add_partner(const struct ana_job *job, size_t index, const struct trc_sig *sig, bool from, char *out,
                        size_t size)
{
    int32_t other = from ? sig->source : sig->peer, tag = from ? sig->rtag : sig->tag;
    size_t known = ana_partner(job, index, trc_comm(ana_job_members(job)->process[index].rank.file, sig->comm), other);
    size_t used = strlen(out);
    const char *way = from ? "from" : "to", *comma = used ? "," : "";
    if (known != SIZE_MAX)
        snprintf(out + used, size - used, "%s %s rank %s", comma, way, ana_rank_label(job, known).text);
    else if (other >= 0)
        snprintf(out + used, size - used, "%s %s rank %d", comma, way, other);
    else if (other == TRC_PEER_ANY)
        snprintf(out + used, size - used, "%s from any rank", comma);
    used = strlen(out);
    if (tag == TRC_TAG_ANY)
        snprintf(out + used, size - used, ", any tag");
    else if (tag != TRC_TAG_NONE)
        snprintf(out + used, size - used, ", tag %d", tag);
}

void ana_call_words(const struct ana_job *job, size_t index, const char *call, const struct trc_sig *sig, char *out,
                    size_t size)
{
    char partners[160] = "", comm[128] = "";
    if (sig && sig->flags & TRC_SIG_P2P_OUT)
        add_partner(job, index, sig, false, partners, sizeof partners);
    if (sig && sig->flags & TRC_SIG_P2P_IN)
        add_partner(job, index, sig, true, partners, sizeof partners);
    if (sig)
        add_comm(job, index, sig, comm, sizeof comm);
    snprintf(out, size, "%s%s%s", call, partners, comm);
}

void ana_inside(const struct ana_job *job, size_t index, char *out, size_t size)
{
    const struct ana_rank *r = &ana_job_members(job)->process[index].rank;
    ana_call_words(job, index, r->inside ? r->inside : "", r->inside_sig, out, size);
}

const char *ana_gpu_standing(const struct trc_gpu_op *op)
{
    return op->state == TRC_GPU_STARTED ? "running" : trc_gpu_state_name(op);
}

void ana_gpu_inside(const struct ana_job *job, size_t index, char *out, size_t size)
{
    const struct ana_rank *r = &ana_job_members(job)->process[index].rank;
    *out = 0;
    if (!r->gpu_op)
        return;
    struct trc_sig sig = {.comm = r->gpu_op->comm};
    char comm[128];
    add_comm(job, index, &sig, comm, sizeof comm);
    snprintf(out, size, "%s%s, %s", trc_call(r->file, r->gpu_op->call)->name, comm, ana_gpu_standing(r->gpu_op));
}

/* The mean time, in ns, of completed calls of the kind that the rank is inside; 0 if there were none. */
static double usual_ns(const struct ana_rank *r)
{
    double ticks = 0, calls = 0;
    for (size_t t = 0, n; t < trc_threads(r->file); t++) {
        const struct trc_counter *row = trc_rows(r->file, t, &n);
        for (size_t k = 0; k < n; k++)
            if (row[k].call_plus_1 && r->inside_sig && row[k].call_plus_1 - 1u == r->inside_sig->call) {
                ticks += (double)row[k].ticks;
                calls += (double)row[k].calls;
            }
    }
    return calls > 0 ? ticks * trc_ns_per_tick(r->file) / calls : 0;
}

static bool waits(const struct ana_process *p, int64_t least_ns)
{
    const struct ana_rank *r = &p->rank;
    return p->alive && r->state == ANA_RANK_IN_MPI && r->inside && r->inside_ns >= least_ns &&
           p->last_end_ns <= p->open_begin_ns;
}

/* Returns the duration that makes a call worth a word. */
static int64_t long_ns(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    size_t heard = 0, waiting = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct ana_process *p = &members->process[i];
        if (!p->alive || p->silent_ns > UNHEARD_NS)
            continue;
        if (!p->rank.inside && p->last_end_ns > p->heartbeat_ns - SURE_NS)
            return LONG_NS;
        heard++;
        waiting += waits(p, WAIT_NS);
    }
    return waiting && waiting >= MOST(heard) ? AGREED_NS : LONG_NS;
}

static bool is_inside_long(const struct ana_process *p, int64_t least_ns)
{
    bool sure = !p->heartbeats || p->heartbeat_ns - p->open_begin_ns >= SURE_NS;
    return waits(p, least_ns) && sure && (double)p->rank.inside_ns >= TIMES_LONGER * usual_ns(&p->rank);
}

int64_t ana_inside_due(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    size_t heard = 0, waiting = 0;
    int64_t longest_ns = 0;
    for (size_t i = 0; i < members->count; i++) {
        const struct ana_process *p = &members->process[i];
        int64_t ns = p->rank.inside_ns;
        if (!p->alive || p->silent_ns > UNHEARD_NS)
            continue;
        heard++;
        if (ns >= LONG_NS || !waits(p, WAIT_NS) || (double)AGREED_NS < TIMES_LONGER * usual_ns(&p->rank))
            continue;
        waiting++;
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    if (!waiting || waiting < FEW(heard))
        return INT64_MAX;
    if (longest_ns < AGREED_NS + TOLD_NS)
        return members->read_ns + AGREED_NS + TOLD_NS - longest_ns;
    bool may_agree = waiting >= MOST(heard) && long_ns(job) != AGREED_NS;
    return may_agree ? members->read_ns + AGAIN_NS : INT64_MAX;
}

/* The rank that it waits for, if its call names one; else SIZE_MAX. */
static size_t partner_of(const struct ana_job *job, size_t index)
{
    const struct ana_rank *r = &ana_job_members(job)->process[index].rank;
    const struct trc_sig *sig = r->inside_sig;
    if (!sig || !(sig->flags & (TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN)))
        return SIZE_MAX;
    return ana_partner(job, index, trc_comm(r->file, sig->comm),
                       sig->flags & TRC_SIG_P2P_OUT ? sig->peer : sig->source);
}

/* Writes what a rank does: "; rank 0 is outside MPI". */
static void write_other(const struct ana_job *job, size_t index, char *out, size_t size)
{
    const struct ana_rank *r = &ana_job_members(job)->process[index].rank;
    const struct ana_label name = ana_rank_label(job, index);
    char call[256] = "";
    if (r->inside)
        ana_inside(job, index, call, sizeof call);
    if (r->state == ANA_RANK_DONE)
        snprintf(out, size, "; rank %s is done", name.text);
    else if (!r->counted)
        *out = 0;
    else if (r->off)
        snprintf(out, size, "; recording of rank %s is off", name.text);
    else
        snprintf(out, size, "; rank %s is %s%s", name.text, r->inside ? "in " : "outside MPI", call);
}

bool ana_write_longest_inside(const struct ana_job *job, char *out, size_t size)
{
    const struct ana_members *members = ana_job_members(job);
    size_t worst = SIZE_MAX, others = 0, idle = SIZE_MAX;
    int worst_order = -1;
    const int64_t least_ns = long_ns(job);
    for (size_t i = 0; i < members->count; i++) {
        const struct ana_rank *r = &members->process[i].rank;
        if (idle == SIZE_MAX && !r->inside && r->state == ANA_RANK_RUN)
            idle = i;
        if (!is_inside_long(&members->process[i], least_ns))
            continue;
        others++;
        /* The last one in a chain of waiting ranks tells most: its partner does not wait itself. */
        size_t partner = partner_of(job, i);
        int order = partner == SIZE_MAX ? 0 : is_inside_long(&members->process[partner], least_ns) ? 1 : 2;
        if (order > worst_order || (order == worst_order && r->inside_ns > members->process[worst].rank.inside_ns)) {
            worst = i;
            worst_order = order;
        }
    }
    if (worst == SIZE_MAX)
        return false;
    const struct ana_rank *r = &members->process[worst].rank;
    size_t other = partner_of(job, worst) == SIZE_MAX ? idle : partner_of(job, worst);
    char call[256], since[ANA_TEXT], partner[320] = "", more[64] = "";
    ana_inside(job, worst, call, sizeof call);
    if (other != SIZE_MAX && other != worst)
        write_other(job, other, partner, sizeof partner);
    if (--others)
        snprintf(more, sizeof more, "; %zu more rank%s wait%s as long", others, others == 1 ? "" : "s",
                 others == 1 ? "s" : "");
    snprintf(out, size, "rank %s has been in %s%s for %s%s%s", ana_rank_label(job, worst).text, call,
             strchr(call, ' ') ? "," : "", ana_spoken(since, sizeof since, (double)r->inside_ns), partner, more);
    return true;
}
