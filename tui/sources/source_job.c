/* The source that is a job of trace files. */
#include "tui/sources/source.h"
#include "tui/sources/lines.h"
#include "trace/session/session.h"

static void job_close(void *data)
{
    ana_job_close(data);
}
static bool job_refresh(void *data)
{
    bool lines = tui_lines_came();
    return ana_job_refresh(data) || lines;
}
static double job_advance(void *data, int64_t budget_ns)
{
    return ana_job_advance(data, budget_ns);
}
static struct ana_job_info job_info(void *data)
{
    return ana_job_info(data);
}
static const struct ana_rank *job_rank(void *data, size_t index)
{
    return ana_job_rank(data, index);
}
static const char *job_warning(void *data, size_t i)
{
    return ana_job_warning(data, i);
}

static enum trc_status job_summarize(void *data, struct ana_selection selection, struct ana_summary *out)
{
    return ana_summarize(data, selection, out);
}

static enum ana_weight job_answer(void *data, const struct ana_summary *summary, const struct ana_gpu_look *gpu,
                                  char *out, size_t out_size)
{
    return ana_headline(data, summary, gpu, out, out_size);
}

static bool job_verdict(void *data, struct ana_verdict *out)
{
    return ana_verdict(data, NULL, out);
}

static size_t job_story(void *data, size_t index, char (*line)[ANA_DETAIL_LINE], size_t max)
{
    return ana_rank_detail(data, index, line, max);
}

static const struct ana_hvd *job_horovod(void *data)
{
    return ana_job_horovod(data);
}

static void job_series(void *data, struct ana_selection selection, enum ana_series_kind kind, size_t n, double *out)
{
    ana_series(data, selection, kind, n, out);
}

static void job_timeline(void *data, size_t rank_index, int64_t begin_ns, int64_t end_ns, size_t n,
                         struct ana_timeline_cell *out)
{
    ana_timeline(data, rank_index, begin_ns, end_ns, n, out);
}

static bool job_moment(void *data, size_t rank_index, int64_t at_ns, struct ana_state_at *out)
{
    return ana_state_at(data, rank_index, at_ns, out);
}

static int64_t job_step(void *data, size_t rank_index, int64_t at_ns, int step)
{
    return ana_step(data, rank_index, at_ns, step);
}

static bool job_gpu(void *data, struct ana_selection selection, struct ana_gpu_look *out)
{
    return ana_gpu_take_look(data, selection, out);
}

static bool job_node(void *data, struct tui_node *out)
{
    return tui_node_look(data, out);
}

static size_t job_streams(void *data)
{
    return ana_streams(data);
}

static struct ana_stream job_stream(void *data, size_t i)
{
    return ana_stream(data, i);
}

static void job_stream_timeline(void *data, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                                struct ana_timeline_cell *out)
{
    ana_stream_timeline(data, i, begin_ns, end_ns, n, out);
}

static const struct tui_source_ops job_ops = {
    .close = job_close,
    .refresh = job_refresh,
    .advance = job_advance,
    .info = job_info,
    .rank = job_rank,
    .warning = job_warning,
    .summarize = job_summarize,
    .summary_free = ana_summary_free,
    .answer = job_answer,
    .verdict = job_verdict,
    .story = job_story,
    .horovod = job_horovod,
    .series = job_series,
    .timeline = job_timeline,
    .moment = job_moment,
    .step = job_step,
    .gpu = job_gpu,
    .node = job_node,
    .streams = job_streams,
    .stream = job_stream,
    .stream_timeline = job_stream_timeline,
};

enum trc_status tui_source_open(const char *const *folders, size_t n, struct tui_source *out, char *error,
                                size_t error_size)
{
    struct ana_job *job;
    enum trc_status status = ana_job_open(folders, n, &job, error, error_size);
    if (status == TRC_OK) {
        tui_lines_use(job, 0);
        *out = (struct tui_source){&job_ops, job};
    }
    return status;
}
