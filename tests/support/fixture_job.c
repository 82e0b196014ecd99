#include "tests/support/fixture_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rank 3 is late.  Every 10 ms: 6 ms of computing (rank 3: 8 ms), a send to the next rank, a reduction of all. */
enum { LATE = 3, PERIOD = 10000000, COMPUTING = 6000000, LATE_COMPUTING = 8000000, SEND = 500000 };

static const char *const hosts[] = {"n01", "n02"};

static void close_fixture(void *data)
{
    (void)data;
}

static bool refresh(void *data)
{
    struct fixture *f = data;
    f->refreshes++;
    if (f->running)
        f->elapsed_ns += 500000000;
    return f->running;
}

static double advance(void *data, int64_t budget_ns)
{
    struct fixture *f = data;
    (void)budget_ns;
    f->advances++;
    f->analysed = f->analysed + 0.25 > 1 ? 1 : f->analysed + 0.25;
    return f->analysed;
}

static struct ana_job_info info(void *data)
{
    const struct fixture *f = data;
    return (struct ana_job_info){.name = "nekbone-4711",
                                 .state = f->hung      ? ANA_HUNG
                                          : f->running ? ANA_RUNNING
                                                       : ANA_FINISHED,
                                 .ranks = f->ranks,
                                 .world_size = f->ranks,
                                 .hosts = 2,
                                 .host = hosts,
                                 .command = "./nekbone ex1",
                                 .mpi = "Open MPI 4.1.4",
                                 .elapsed_ns = f->elapsed_ns,
                                 .clock_error_s = f->unknown ? NAN : 1.2e-6,
                                 .overhead_s = f->unknown ? NAN : (double)f->elapsed_ns * 1e-12,
                                 .overhead_share = f->unknown ? NAN : 1e-3,
                                 .quiet_ns = f->running ? 0 : -1};
}

static const struct ana_rank *rank(void *data, size_t index)
{
    static const struct trc_sig sig = {.flags = TRC_SIG_COLL, .sent = 8, .received = 8, .peer = -1, .source = -1};
    struct fixture *f = data;
    bool wait = f->running && index != LATE;
    f->rank = (struct ana_rank){.rank = (int32_t)index,
                                .host = hosts[index * 2 / f->ranks],
                                .pid = 1000 + (uint32_t)index,
                                .counted = true,
                                .state = wait         ? ANA_RANK_IN_MPI
                                         : f->running ? ANA_RANK_RUN
                                                      : ANA_RANK_DONE,
                                .end_ns = f->elapsed_ns,
                                .calls = 2000,
                                .sent = 33000000,
                                .received = 33000000,
                                .sent_messages = 1000,
                                .received_messages = 1000,
                                .inside = wait ? "MPI_Allreduce" : NULL,
                                .inside_ns = 1800000,
                                .inside_sig = wait ? &sig : NULL,
                                .sent_per_s = f->unknown ? NAN : 144e6,
                                .received_per_s = f->unknown ? NAN : 144e6,
                                .calls_per_s = f->unknown ? NAN : 25800,
                                .mpi_share = f->unknown      ? NAN
                                             : index == LATE ? 0.2
                                                             : 0.4};
    return &f->rank;
}

/* As of a job that hangs since 3 min 12 s. */
static bool verdict(void *data, struct ana_verdict *out)
{
    const struct fixture *f = data;
    *out = (struct ana_verdict){.since_ns = -1};
    if (!f->hung)
        return true;
    out->state = ANA_VERDICT_HUNG;
    out->id = ANA_CLASS_MISSING;
    out->confidence = ANA_LIKELY;
    out->since_ns = 192000000000;
    snprintf(out->summary, sizeof out->summary, "rank %d has not come to MPI_Allreduce on grid, where %zu of %zu wait",
             LATE, f->ranks - 1, f->ranks);
    if (f->horovod) {
        out->id = ANA_CLASS_NOT_SUBMITTED;
        snprintf(out->summary, sizeof out->summary,
                 "rank %d has not submitted 3 of 6 tensors since step 4117 (first: layer3.0.conv1.weight)", LATE);
    }
    snprintf(out->next, sizeof out->next,
             "what the missing rank does outside MPI: its input, its locks, its loop bounds");
    out->culprits = 1;
    out->culprit = calloc(1, sizeof *out->culprit);
    out->culprit[0] = LATE;
    out->lines = 2;
    out->line = calloc(2, sizeof *out->line);
    out->line[0] = strdup("it is collective 1104233 on that communicator; the last to come came 192.0 s ago");
    out->line[1] = strdup("known: its shared memory transport (vader) hangs on one host; 3.0.0 and 4.0.0 do not "
                          "(open-mpi/ompi#5638, #6088)");
    static const char divergence[][ANA_DIVERGENCE_LINE] = {
        "16 ranks  main.c:12 in main", "  rank 3  load.c:57 in load_batch", "  15 ranks  step.c:88 in step"};
    out->divergences = sizeof divergence / sizeof *divergence;
    out->divergence = malloc(sizeof divergence);
    memcpy(out->divergence, divergence, sizeof divergence);
    out->groups = 2;
    out->group = calloc(2, sizeof *out->group);
    out->group[0] = (struct ana_verdict_group){
        "rank 3", "outside MPI, after MPI_Send", "load.c:57 in load_batch <- read() on /data/shard-17", LATE, 1, true};
    out->group[1] = (struct ana_verdict_group){
        "ranks 0-2 and 4-15", "in MPI_Allreduce on grid", "step.c:88 in step", 0, f->ranks - 1, false};
    return true;
}

static size_t story(void *data, size_t index, char (*line)[ANA_DETAIL_LINE], size_t max)
{
    static const char *const told[] = {"thread nekbone (1003): outside MPI; before that:",
                                       "  3 min 12 s ago  MPI_Send to rank 4, tag 7 on grid, 480 us",
                                       "  3 min 12 s ago  MPI_Allreduce on grid, 2.4 ms",
                                       "thread nekbone (1003): read() on /data/shard-17",
                                       "    read (libc.so.6)",
                                       "    load_batch (load.c:57)",
                                       "    main (main.c:12)"};
    size_t n = 0;
    (void)data;
    snprintf(line[n++], ANA_DETAIL_LINE, "rank %zu, pid %zu on n01: outside MPI", index, 1000 + index);
    for (size_t i = 0; i < sizeof told / sizeof *told && n < max; i++)
        snprintf(line[n++], ANA_DETAIL_LINE, "%s", told[i]);
    return n;
}

static const struct ana_hvd *horovod(void *data)
{
    return fixture_horovod(data);
}

static const char *warning(void *data, size_t i)
{
    (void)data, (void)i;
    return NULL;
}

static struct ana_times times(uint64_t count, double p50)
{
    return (struct ana_times){count, (int64_t)((double)count * p50 * 1.25), p50 / 4, p50, p50 * 3, p50 * 12, p50 * 60};
}

static struct ana_call_stat call(const char *name, enum trc_opclass opclass, int size_class, uint64_t count, double p50)
{
    struct ana_call_stat c = {.name = name,
                              .opclass = opclass,
                              .size_class = size_class,
                              .times = times(count, p50),
                              .ended = count,
                              .time_ns = times(count, p50).total_ns,
                              .sent = size_class > 0 ? count << (size_class - 1) : 0,
                              .waiting_ns = -1,
                              .last_index = SIZE_MAX};
    int top = (int)log2(p50);
    for (int i = 0; i < 5; i++)
        c.histogram[top - 2 + i] = (uint32_t)(count >> (i == 2 ? 1 : 4 + i));
    return c;
}

static void summarize_calls(const struct fixture *f, struct ana_summary *s)
{
    uint64_t n = f->ranks * 1000;
    s->calls = calloc(3, sizeof *s->calls);
    s->cells = calloc(6, sizeof *s->cells);
    s->call_count = 3;
    s->calls[0] = call("MPI_Allreduce", TRC_OP_ALLREDUCE, -1, n, 2400000);
    s->calls[0].sent = s->calls[0].received = n * 8;
    s->calls[0].waiting_ns = f->unknown ? -1 : (int64_t)((double)n * 1500000);
    s->calls[0].last_index = LATE;
    s->calls[0].last_share = 0.98;
    s->calls[1] = call("MPI_Send", TRC_OP_SEND, -1, n, 480000);
    s->calls[1].sent = n * 32768;
    s->calls[2] = call("MPI_Init", TRC_OP_INIT, -1, f->ranks, 120000);
    s->cells[s->cell_count++] = call("MPI_Allreduce", TRC_OP_ALLREDUCE, 4, n - 10, 2400000);
    s->cells[s->cell_count++] = call("MPI_Allreduce", TRC_OP_ALLREDUCE, 11, 10, 4800000);
    s->cells[s->cell_count++] = call("MPI_Send", TRC_OP_SEND, 1, n / 2, 9000);
    s->cells[s->cell_count++] = call("MPI_Send", TRC_OP_SEND, 16, n / 2, 480000);
    s->cells[s->cell_count++] = call("MPI_Init", TRC_OP_INIT, 0, f->ranks, 120000);
}

static void summarize_relations(const struct fixture *f, struct ana_summary *s)
{
    size_t n = f->ranks;
    s->pairs = calloc(n, sizeof *s->pairs);
    s->collectives = calloc(1, sizeof *s->collectives);
    s->waits = calloc(n + 1, sizeof *s->waits);
    s->sites = calloc(3, sizeof *s->sites);
    for (size_t i = 0; i < n; i++) {
        s->pairs[s->pair_count++] =
            (struct ana_pair){i, (i + 1) % n, 1000 + i, (1000 + i) * 32768, 4100, f->unknown ? NAN : 480000};
        if (i != LATE)
            s->waits[s->wait_count++] =
                (struct ana_wait){ANA_LATE_IN_COLLECTIVE, i, LATE, 980, 1470000000, 980 * 2.25e12};
    }
    s->waits[s->wait_count++] = (struct ana_wait){ANA_LATE_SENDER, 0, n - 1, 12, 6000000, 12 * 2.5e11};
    s->collectives[s->collective_count++] = (struct ana_collective){
        "MPI_Allreduce", 7, "WORLD", 1000, 0, 2000000, 2100000, 2400000, 1500000ll * 1000 * (int64_t)n, LATE, 0.98};
    s->sites[s->site_count++] =
        (struct ana_site){"MPI_Allreduce",          "step+0x4f", "nekbone+0x1234", 0x401234, 0,          n,
                          times(n * 1000, 2400000), 0,           n * 8000,         n * 8000, "step.c:88"};
    s->sites[s->site_count++] = (struct ana_site){
        "MPI_Send", "exchange+0x1c", "nekbone+0x2345", 0x402345, 1, n, times(n * 1000, 480000), 0, n * 32768000,
        0,          "exchange.c:41"};
    s->sites[s->site_count++] =
        (struct ana_site){"MPI_Init", NULL, NULL, 0x7f0000001000, 2, 1, times(n, 120000), 0, 0, 0, NULL};
    for (size_t i = 0; i < s->site_count; i++)
        s->sites[i].time_ns = s->sites[i].times.total_ns;
    s->message_latency = times(n * 1000, 490000);
}

static enum trc_status summarize(void *data, struct ana_selection selection, struct ana_summary *s)
{
    struct fixture *f = data;
    f->summaries++;
    f->asked = selection;
    *s = (struct ana_summary){.selection = selection, .exact = true, .analysed = f->analysed};
    s->begin_ns = selection.begin_ns;
    s->end_ns = selection.end_ns < f->elapsed_ns ? selection.end_ns : f->elapsed_ns;
    s->ranks = calloc(f->ranks ? f->ranks : 1, sizeof *s->ranks);
    for (size_t i = 0; i < f->ranks; i++) {
        if (selection.ranks && !selection.ranks[i])
            continue;
        s->ranks[s->rank_count++] = (struct ana_rank_stat){.index = i,
                                                           .counted = true,
                                                           .calls = 2001,
                                                           .sent = 33000000,
                                                           .received = 33000000,
                                                           .wall_ns = s->end_ns - s->begin_ns,
                                                           .seen_ns = s->end_ns - s->begin_ns,
                                                           .mpi_ns = (s->end_ns - s->begin_ns) / (i == LATE ? 5 : 3),
                                                           .waiting_ns = f->unknown  ? -1
                                                                         : i == LATE ? 0
                                                                                     : 1500000000,
                                                           .caused_ns = f->unknown  ? -1
                                                                        : i == LATE ? 4500000000
                                                                                    : 0,
                                                           .collectives = 1000,
                                                           .came_last = i == LATE ? 980 : 6};
    }
    if (f->ranks) {
        summarize_calls(f, s);
        summarize_relations(f, s);
    }
    s->efficiency = f->unknown ? (struct ana_efficiency){NAN, NAN, NAN} : (struct ana_efficiency){0.62, 0.79, 0.785};
    return TRC_OK;
}

static void summary_free(struct ana_summary *s)
{
    free(s->ranks);
    free(s->calls);
    free(s->cells);
    free(s->pairs);
    free(s->collectives);
    free(s->waits);
    free(s->sites);
    *s = (struct ana_summary){0};
}

static enum ana_weight answer(void *data, const struct ana_summary *summary, const struct ana_gpu_look *gpu, char *out,
                              size_t out_size)
{
    struct ana_verdict v;
    (void)summary, (void)gpu;
    if (((const struct fixture *)data)->hung && verdict(data, &v)) {
        ana_verdict_headline(&v, out, out_size);
        ana_verdict_free(&v);
        return ANA_TROUBLE;
    }
    snprintf(out, out_size, "rank 3 is late: last in 98 %% of MPI_Allreduce, +2.0 ms each, costs all 15 %%");
    return ANA_NOTABLE;
}

static void series(void *data, struct ana_selection selection, enum ana_series_kind kind, size_t n, double *out)
{
    const struct fixture *f = data;
    (void)selection;
    for (size_t i = 0; i < n; i++)
        out[i] = f->unknown ? NAN : kind == ANA_SERIES_MPI_SHARE ? 0.35 : (double)(i % 8 + 4) * 1e8;
}

/* What a rank is in at a time: 0 computing, 1 sending, 2 reducing; *begin and *end of that. */
static int phase(size_t index, int64_t at, int64_t *begin, int64_t *end)
{
    int64_t base = at / PERIOD * PERIOD, computed = base + (index == LATE ? LATE_COMPUTING : COMPUTING);
    if (at < computed) {
        *begin = base;
        *end = computed;
        return 0;
    }
    bool sending = at < computed + SEND;
    *begin = sending ? computed : computed + SEND;
    *end = sending ? computed + SEND : base + PERIOD;
    return sending ? 1 : 2;
}

static void timeline(void *data, size_t index, int64_t begin_ns, int64_t end_ns, size_t n,
                     struct ana_timeline_cell *out)
{
    static const enum trc_category category[] = {TRC_CAT_COMPUTE, TRC_CAT_P2P, TRC_CAT_COLLECTIVE};
    const struct fixture *f = data;
    memset(out, 0, n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        int64_t from = begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)i / (double)n);
        int64_t to = begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)(i + 1) / (double)n), a, b;
        if (from < 0 || from >= f->elapsed_ns)
            continue;
        for (int64_t t = from, steps = 0; steps < 20; steps++, t = from + (to - from) * steps / 20) {
            int p = phase(index, t, &a, &b);
            out[i].share[category[p]] += 0.05f;
            if (p == 2 && index != LATE && t < t / PERIOD * PERIOD + LATE_COMPUTING + SEND)
                out[i].waiting += 0.05f;
        }
    }
}

static bool moment(void *data, size_t index, int64_t at_ns, struct ana_state_at *out)
{
    struct fixture *f = data;
    int64_t begin, end;
    if (at_ns < 0 || at_ns >= f->elapsed_ns)
        return false;
    int p = phase(index, at_ns, &begin, &end), covers = p != 0;
    if (!covers && begin > 0)
        p = phase(index, at_ns = begin - 1, &begin, &end);
    *out = (struct ana_state_at){.call = p == 0   ? NULL
                                         : p == 1 ? "MPI_Send"
                                                  : "MPI_Allreduce",
                                 .covers = covers,
                                 .last_index = -1,
                                 .comm_name = "WORLD"};
    out->begin_ns = begin;
    out->end_ns = end;
    out->sig =
        (struct trc_sig){.peer = TRC_PEER_NONE, .source = TRC_PEER_NONE, .tag = TRC_TAG_NONE, .rtag = TRC_TAG_NONE};
    if (p == 1) {
        out->sig.flags = TRC_SIG_P2P_OUT;
        out->sig.peer = (int32_t)((index + 1) % f->ranks);
        out->sig.tag = 7;
        out->sig.sent = 32768;
        out->has_other_end = true;
        out->other_index = (index + 1) % f->ranks;
        out->other_begin_ns = begin + 100000;
        out->other_end_ns = end;
    } else {
        out->sig.flags = TRC_SIG_COLL;
        out->sig.sent = out->sig.received = 8;
        out->sequence = (uint64_t)(at_ns / PERIOD);
        out->last_index = LATE;
        out->late_ns = LATE_COMPUTING - COMPUTING;
    }
    return true;
}

static int64_t step(void *data, size_t index, int64_t at_ns, int direction)
{
    struct fixture *f = data;
    int64_t begin, end, at = at_ns;
    phase(index, at, &begin, &end);
    do {
        at = direction > 0 ? end : begin - 1;
        if (at < 0 || at >= f->elapsed_ns)
            return at_ns;
    } while (phase(index, at, &begin, &end) == 0);
    return begin;
}

static bool gpu(void *data, struct ana_selection selection, struct ana_gpu_look *out)
{
    return fixture_gpu(data, selection, out);
}

static bool node(void *data, struct tui_node *out)
{
    const struct fixture *f = data;
    *out = (struct tui_node){0};
    if (!f->gpu || f->unknown)
        return false;
    out->gpu[out->gpu_count++] = (struct tui_node_gpu){"NVIDIA H200", 0.87, 21e9, 20e9, 3e8, 4e6};
    out->gpu[out->gpu_count++] = (struct tui_node_gpu){"NVIDIA H200", 0.02, NAN, NAN, 1e6, 1e6};
    out->ras.answers = true;
    snprintf(out->ras.text, sizeof out->ras.text, "2 communicators of 4 ranks RUNNING, OK");
    return true;
}

/* Two of each rank. */
static size_t streams(void *data)
{
    const struct fixture *f = data;
    return f->gpu && !f->unknown ? 2 * f->ranks : 0;
}

static struct ana_stream stream(void *data, size_t i)
{
    (void)data;
    return (struct ana_stream){.index = i / 2, .context = 1, .stream = i % 2 ? 13 : 7};
}

static void stream_timeline(void *data, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                            struct ana_timeline_cell *out)
{
    fixture_stream_timeline(data, i, begin_ns, end_ns, n, out);
}

static const struct tui_source_ops ops = {close_fixture, refresh, advance, info,    rank,    warning,         summarize,
                                          summary_free,  answer,  verdict, story,   horovod, series,          timeline,
                                          moment,        gpu,     node,    streams, stream,  stream_timeline, step};

struct tui_source fixture_source(struct fixture *f, size_t ranks)
{
    *f = (struct fixture){.ranks = ranks, .elapsed_ns = 10000000000, .analysed = 1};
    return (struct tui_source){&ops, f};
}
