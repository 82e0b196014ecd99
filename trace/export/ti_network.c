/* The network of a job, as its messages show it, and as SimGrid wants it told: hosts with a link each, a latency, a
 * bandwidth, and by how much that differs for sizes of messages. */
#include "trace/export/out.h"
#include "trace/export/ti.h"
#include "trace/format/histogram.h"
#include "trace/job/walk.h"
#include "trace/util/times.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 65 };           /* trc_size_class() gives no more */
#define SMALL               64 /* bytes: what takes the latency alone */
#define GUESSED_LATENCY_NS  1000.0
#define GUESSED_NS_PER_BYTE 0.1

/* Messages of a rank, one way, from when both sides of the first had begun until none was under way any more: they
 * share what there is, and only together say how fast it is. */
struct period {
    int64_t begin_ns, end_ns;
    uint64_t bytes, messages;
    bool waited; /* for the one that ended last: else nobody knows when it came */
};

/* Of messages of a size class. */
struct sized {
    struct ana_times_small per_byte; /* fs a byte, by period */
    uint64_t bytes, messages, periods;
};

struct measure {
    struct period *way[2];          /* by rank index: out of it, into it */
    struct sized *size[2];          /* by size class */
    struct ana_times_small latency; /* of single small messages */
    struct ana_times_small coll; /* from the last that came to the last that left, a round; collectives of few bytes */
};

static void end_period(struct measure *measure, int way, struct period *p)
{
    int64_t took_ns = p->end_ns - p->begin_ns;
    if (p->messages && p->waited && took_ns > 0) {
        struct sized *of = &measure->size[way][trc_size_class(p->bytes / p->messages)];
        of->bytes += p->bytes;
        of->messages += p->messages;
        of->periods++;
        if (p->bytes)
            ana_small_add(&of->per_byte, (int64_t)((double)took_ns * 1e6 / (double)p->bytes), 1);
        if (p->messages == 1 && p->bytes <= SMALL && way == 0)
            ana_small_add(&measure->latency, took_ns, 1);
    }
    *p = (struct period){0};
}

static void take_message(void *user, const struct ana_message *m)
{
    struct measure *measure = user;
    int64_t begin_ns = m->send_begin_ns > m->recv_begin_ns ? m->send_begin_ns : m->recv_begin_ns;
    int64_t took_ns = m->recv_complete_ns - begin_ns;
    if (m->source == m->destination || m->bytes == TRC_BYTES_UNKNOWN || took_ns <= 0)
        return;
    bool waited = m->recv_wait_begin_ns - begin_ns <= took_ns / 10;
    for (int way = 0; way < 2; way++) {
        struct period *p = &measure->way[way][way ? m->destination : m->source];
        if (p->messages && begin_ns >= p->end_ns)
            end_period(measure, way, p);
        if (!p->messages || begin_ns < p->begin_ns)
            p->begin_ns = begin_ns;
        if (!p->messages || m->recv_complete_ns >= p->end_ns)
            p->waited = waited;
        if (!p->messages || m->recv_complete_ns > p->end_ns)
            p->end_ns = m->recv_complete_ns;
        p->bytes += m->bytes;
        p->messages++;
    }
}

static void take_instance(void *user, const struct ana_instance *i)
{
    struct measure *measure = user;
    int64_t came_ns = INT64_MIN, left_ns = INT64_MIN;
    int rounds = 0;
    enum trc_opclass opclass = i->call->opclass;
    if (i->arrivals < 2 || (opclass != TRC_OP_BARRIER && opclass != TRC_OP_ALLREDUCE))
        return;
    for (size_t a = 0; a < i->arrivals; a++) {
        came_ns = i->arrival[a].begin_ns > came_ns ? i->arrival[a].begin_ns : came_ns;
        left_ns = i->arrival[a].end_ns > left_ns ? i->arrival[a].end_ns : left_ns;
    }
    for (size_t k = 1; k < i->arrivals; k *= 2)
        rounds++;
    ana_small_add(&measure->coll, (left_ns - came_ns) / rounds, 1);
}

/* What a byte of this class takes beside the latency, in ns; NAN: not known.  Of both ways that is right which the
 * messages had more of: many may come into one, or out of it. */
static double per_byte(const struct measure *m, int class, double latency_ns)
{
    double least = NAN;
    for (int way = 0; way < 2; way++) {
        const struct sized *of = &m->size[way][class];
        if (!of->per_byte.calls || of->bytes <= SMALL * of->periods)
            continue;
        double mean = (double)of->bytes / (double)of->periods;
        double ns = ana_small_of(&of->per_byte).p50_ns / 1e6 - latency_ns / mean;
        least = !(ns >= least) ? ns : least;
    }
    return least;
}

static double latency_of(const struct measure *m)
{
    if (m->latency.calls)
        return ana_small_of(&m->latency).p50_ns;
    return m->coll.calls ? ana_small_of(&m->coll).p50_ns : GUESSED_LATENCY_NS;
}

/* Makes latency, bandwidth and what differs from it of the medians. */
static void fit(const struct measure *m, struct ana_ti_network *out)
{
    out->latency_ns = latency_of(m);
    out->ns_per_byte = GUESSED_NS_PER_BYTE;
    for (int c = 0; c < SIZES; c++)
        out->messages += m->size[0][c].messages;
    for (int c = 0; c < SIZES && out->classes < ANA_TI_CLASSES; c++) {
        double ns = per_byte(m, c, out->latency_ns);
        if (isnan(ns))
            continue;
        const struct sized *of = m->size[0][c].periods ? &m->size[0][c] : &m->size[1][c];
        uint64_t mean = of->bytes / (of->messages ? of->messages : 1);
        out->size[out->classes].from = out->classes ? mean / 4 * 3 : 0; /* halfway from the class below */
        out->size[out->classes++].slower = ns > 1e-6 ? ns : 1e-6;
    }
    if (out->classes)
        out->ns_per_byte = out->size[out->classes - 1].slower;
    for (size_t i = 0; i < out->classes; i++)
        out->size[i].slower /= out->ns_per_byte;
}

bool ana_ti_measure(struct ana_job *job, struct ana_ti_network *out)
{
    struct ana_selection all = {.begin_ns = INT64_MIN, .end_ns = INT64_MAX};
    size_t ranks = ana_job_info(job).ranks;
    struct measure m = {0};
    struct ana_walk walk = {.user = &m, .message = take_message, .instance = take_instance};
    bool ok = true;
    for (int way = 0; way < 2; way++) {
        m.way[way] = calloc(ranks + 1, sizeof *m.way[way]);
        m.size[way] = calloc(SIZES, sizeof *m.size[way]);
        ok = ok && m.way[way] && m.size[way];
    }
    *out = (struct ana_ti_network){0};
    ok = ok && ana_job_walk(job, &all, &walk);
    for (size_t i = 0; ok && i < 2 * ranks; i++)
        end_period(&m, (int)(i & 1), &m.way[i & 1][i / 2]);
    if (ok)
        fit(&m, out);
    for (int way = 0; way < 2; way++) {
        free(m.way[way]);
        free(m.size[way]);
    }
    return ok;
}

bool ana_ti_platform(const struct ana_ti_network *network, double faster, size_t hosts, const char *path)
{
    struct ana_out *out = ana_out_open(path);
    char text[512];
    if (!out)
        return false;
    /* A message takes two links, one of each host; each has half of the latency. */
    snprintf(text, sizeof text,
             "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
             "<platform version=\"4.1\">\n<cluster id=\"job\" prefix=\"r\" suffix=\"\" radical=\"0-%zu\" speed=\"1Gf\" "
             "bw=\"%.0fBps\" lat=\"%.3fns\" sharing_policy=\"SPLITDUPLEX\"/>\n</platform>\n",
             hosts - 1, 1e9 / network->ns_per_byte * faster, network->latency_ns / 2 / faster);
    ana_out_text(out, text);
    errno = ana_out_close(out);
    return errno == 0;
}

void ana_ti_options(const struct ana_ti_network *network, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size,
                                "--cfg=network/model:SMPI\n--cfg=surf/precision:1e-9\n"
                                "--cfg=network/TCP-gamma:0\n--cfg=network/crosstraffic:0\n"
                                "--cfg=smpi/async-small-thresh:65536\n--cfg=smpi/lat-factor:0:1\n"
                                "--cfg=smpi/bw-factor:");
    for (size_t i = 0; i < network->classes && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%llu:%.6g", i ? ";" : "", (unsigned long long)network->size[i].from,
                              1 / network->size[i].slower);
    if (n < size)
        snprintf(out + n, size - n, "%s\n", network->classes ? "" : "0:1");
}
