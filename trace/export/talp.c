/* POP's metrics as TALP of DLB writes them, for TALP-Pages: one region, the whole run or the part that was asked for.
 * Source: DLB's documentation of TALP, "Output formats", version 3.5. */
#include "trace/export/export_impl.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Inputs of the metrics; times in ns. */
struct sums {
    double elapsed, useful, mpi;  /* the longest rank's run; of all ranks outside and inside MPI */
    double most, most_of_node;    /* the longest time outside MPI of a rank; the largest mean of a node's ranks */
    uint64_t calls, ranks, nodes; /* number of counted ranks, and of nodes with a counted rank */
};

/* Finds the largest mean time outside MPI of a node's ranks, and how many nodes have ranks that are counted. */
static void add_up_nodes(const struct ana_exporting *x, struct sums *sums)
{
    const struct ana_summary *s = x->summary;
    const size_t hosts = ana_job_info(x->job).hosts;
    struct node {
        double useful, ranks;
    } *node = calloc(hosts + 1, sizeof *node);
    for (size_t i = 0; node && i < s->rank_count; i++) {
        struct node *of = &node[ana_job_rank(x->job, s->ranks[i].index)->host_index];
        of->useful += s->ranks[i].counted ? (double)(s->ranks[i].wall_ns - s->ranks[i].mpi_ns) : 0;
        of->ranks += s->ranks[i].counted;
    }
    for (size_t h = 0; node && h < hosts; h++) {
        sums->nodes += node[h].ranks > 0;
        sums->most_of_node = fmax(sums->most_of_node, node[h].ranks > 0 ? node[h].useful / node[h].ranks : 0);
    }
    sums->most_of_node = node ? sums->most_of_node : NAN;
    free(node);
}

static struct sums add_up(const struct ana_exporting *x)
{
    const struct ana_summary *s = x->summary;
    struct sums sums = {0};
    for (size_t i = 0; i < s->rank_count; i++) {
        const struct ana_rank_stat *rank = &s->ranks[i];
        double useful = (double)(rank->wall_ns - rank->mpi_ns);
        if (!rank->counted)
            continue;
        sums.ranks++;
        sums.calls += rank->calls;
        sums.elapsed = fmax(sums.elapsed, (double)rank->wall_ns);
        sums.useful += useful;
        sums.mpi += (double)rank->mpi_ns;
        sums.most = fmax(sums.most, useful);
    }
    add_up_nodes(x, &sums);
    return sums;
}

static void put_number(struct ana_out *out, const char *key, double value, bool last)
{
    char text[64];
    ana_out_text(out, "   ");
    if (isfinite(value))
        snprintf(text, sizeof text, "%.10g", value);
    ana_out_format(out, "\"%s\": %s%s\n", key, isfinite(value) ? text : "null", last ? "" : ",");
}

static void put_metrics(struct ana_exporting *x, const struct sums *s)
{
    double ranks = (double)s->ranks, mean = s->useful / ranks;
    const double balance = x->summary->efficiency.load_balance, communication = x->summary->efficiency.communication;
    const struct {
        const char *key;
        double value;
    } metrics[] = {
        {"numCpus", ranks},
        {"numNodes", (double)s->nodes},
        {"avgCpus", ranks},
        {"cycles", -1}, /* not counted: TALP-Pages takes a negative number for no value */
        {"instructions", -1},
        {"numMeasurements", 1},
        {"numMpiCalls", (double)s->calls},
        {"numOmpParallels", 0},
        {"numOmpTasks", 0},
        {"elapsedTime", s->elapsed},
        {"usefulTime", s->useful},
        {"mpiTime", s->mpi},
        {"ompLoadImbalanceTime", 0},
        {"ompSchedulingTime", 0},
        {"ompSerializationTime", 0},
        {"parallelEfficiency", balance * communication},
        {"mpiParallelEfficiency", balance * communication},
        {"mpiCommunicationEfficiency", communication},
        {"mpiLoadBalance", balance},
        {"mpiLoadBalanceIn", s->most_of_node / s->most},
        {"mpiLoadBalanceOut", mean / s->most_of_node},
        {"ompParallelEfficiency", 1},
        {"ompLoadBalance", 1},
        {"ompSchedulingEfficiency", 1},
        {"ompSerializationEfficiency", 1},
    };
    size_t n = sizeof metrics / sizeof *metrics;
    for (size_t i = 0; i < n; i++)
        put_number(x->out, metrics[i].key, metrics[i].value, i + 1 == n);
}

static bool begin(struct ana_exporting *x)
{
    struct sums sums = add_up(x);
    time_t at = (time_t)(ana_job_info(x->job).start_realtime_ns / 1000000000);
    struct tm utc;
    char text[256];
    if (!sums.ranks || !(sums.elapsed > 0))
        return ana_export_fail(x, "the counters of no rank are known: there is nothing for TALP");
    gmtime_r(&at, &utc);
    ana_out_text(x->out, "{\n \"dlbVersion\": \"3.5 (by hpctop)\",\n \"timestamp\": \"");
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
    ana_out_text(x->out, text);
    snprintf(text, sizeof text,
             "\",\n \"resources\": {\"numCpus\": %llu, \"numNodes\": %llu, \"numMpiRanks\": %llu},\n"
             " \"Application\": {\n  \"Global\": {\n",
             (unsigned long long)sums.ranks, (unsigned long long)sums.nodes, (unsigned long long)sums.ranks);
    ana_out_text(x->out, text);
    put_metrics(x, &sums);
    ana_out_text(x->out, "  }\n }\n}\n");
    return true;
}

const struct ana_export_sink ana_export_talp = {
    .is = {"talp", "talp.json", "POP's metrics as TALP's JSON, for TALP-Pages", false},
    .wants = ANA_EXPORT_COUNTERS,
    .begin = begin,
};
