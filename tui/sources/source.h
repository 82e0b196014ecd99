/* Where the data comes from: a live job, a finished one, or a test's fixture.  The same to the views. */
#ifndef TUI_SOURCE_H
#define TUI_SOURCE_H

#include "trace/gpu/device.h"
#include "trace/horovod/horovod.h"
#include "trace/verdict/verdict.h"
#include "tui/sources/node.h"

/* Each slot is the function of trace/job/job.h of that name. */
struct tui_source_ops {
    void (*close)(void *data);
    bool (*refresh)(void *data);
    double (*advance)(void *data, int64_t budget_ns);
    struct ana_job_info (*info)(void *data);
    const struct ana_rank *(*rank)(void *data, size_t index);
    const char *(*warning)(void *data, size_t i);
    enum trc_status (*summarize)(void *data, struct ana_selection selection, struct ana_summary *out);
    void (*summary_free)(struct ana_summary *summary);
    enum ana_weight (*answer)(void *data, const struct ana_summary *summary, const struct ana_gpu_look *gpu, char *out,
                              size_t out_size);
    bool (*verdict)(void *data, struct ana_verdict *out);
    size_t (*story)(void *data, size_t index, char (*line)[ANA_DETAIL_LINE], size_t max); /* ana_rank_detail */
    const struct ana_hvd *(*horovod)(void *data);                                         /* ana_job_horovod */
    void (*series)(void *data, struct ana_selection selection, enum ana_series_kind kind, size_t n, double *out);
    void (*timeline)(void *data, size_t rank_index, int64_t begin_ns, int64_t end_ns, size_t n,
                     struct ana_timeline_cell *out);
    bool (*moment)(void *data, size_t rank_index, int64_t at_ns, struct ana_state_at *out);
    /* ana_gpu_take_look; released by ana_gpu_look_free */
    bool (*gpu)(void *data, struct ana_selection selection, struct ana_gpu_look *out);
    bool (*node)(void *data, struct tui_node *out); /* tui_node_look */
    size_t (*streams)(void *data);                  /* this and the next two: of trace/gpu/device.h */
    struct ana_stream (*stream)(void *data, size_t i);
    void (*stream_timeline)(void *data, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                            struct ana_timeline_cell *out);
    int64_t (*step)(void *data, size_t rank_index, int64_t at_ns, int step);
};

struct tui_source {
    const struct tui_source_ops *ops;
    void *data; /* owned; ended by ops->close */
};

/* Opens trace folders as a source.  TRC_BAD, with one line in `error`, when none can be read. */
enum trc_status tui_source_open(const char *const *folders, size_t n, struct tui_source *out, char *error,
                                size_t error_size);

#endif
