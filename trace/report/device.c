/* The report's tables of GPUs and NCCL; nothing where there were none. */
#include "trace/report/page.h"
#include "trace/report/report.h"

#include <inttypes.h>

#define MOST 12

static void nccl(struct ana_page *p, const struct ana_gpu_look *look)
{
    static const struct ana_page_column columns[] = {ANA_COLUMN(-18, "operation", NCCL_NAME),
                                                     ANA_COLUMN(-16, "communicator", NCCL_COMM),
                                                     ANA_COLUMN(7, "calls", NCCL_CALLS),
                                                     ANA_COLUMN(8, "size", NCCL_SIZE),
                                                     ANA_COLUMN(9, "algbw", NCCL_ALGBW),
                                                     ANA_COLUMN(9, "busbw", NCCL_BUSBW),
                                                     ANA_COLUMN(9, "transfer", NCCL_TRANSFER),
                                                     ANA_COLUMN(8, "skew", NCCL_SKEW_P50),
                                                     {0, NULL, NULL}};
    size_t shown = ana_shown(look->nccl_count, MOST);
    if (shown == 0)
        return;
    ana_page_table(p, "NCCL, bytes/s as nccl-tests; transfer: shortest kernel of the ranks, skew: longest less it",
                   columns);
    for (size_t i = 0; i < shown; i++) {
        ana_page_row(p, columns);
        ana_page_cells(p, &look->nccl[i]);
    }
    ana_page_more(p, shown, look->nccl_count, "kinds");
}

static void kernels(struct ana_page *p, const struct ana_gpu_look *look)
{
    static const struct ana_page_column columns[] = {{-38, "kernel", NULL},
                                                     ANA_COLUMN(8, "calls", KERNEL_CALLS),
                                                     ANA_COLUMN(8, "time", KERNEL_TIME),
                                                     ANA_COLUMN(8, "p50", KERNEL_P50),
                                                     ANA_COLUMN(8, "max", KERNEL_MAX),
                                                     ANA_COLUMN(6, "ranks", KERNEL_RANKS),
                                                     {0, NULL, NULL}};
    size_t shown = ana_shown(look->kernel_count, MOST);
    if (shown == 0)
        return;
    ana_page_table(p, "KERNELS, by time", columns);
    for (size_t i = 0; i < shown; i++) {
        char name[256];
        ana_kernel_words(look->kernels[i].name, name, sizeof name);
        ana_page_row(p, columns);
        ana_page_cell(p, name);
        ana_page_cells(p, &look->kernels[i]);
    }
    ana_page_more(p, shown, look->kernel_count, "kernels");
}

static void gpus(struct ana_page *p, const struct ana_gpu_look *look)
{
    static const struct ana_page_column columns[] = {{5, "rank", NULL},
                                                     ANA_COLUMN(9, "compute", GPU_COMPUTE),
                                                     ANA_COLUMN(9, "NCCL", GPU_NCCL),
                                                     ANA_COLUMN(9, "overlap", GPU_OVERLAP),
                                                     ANA_COLUMN(9, "exposed", GPU_EXPOSED),
                                                     ANA_COLUMN(9, "copies", GPU_COPY),
                                                     ANA_COLUMN(9, "idle", GPU_IDLE),
                                                     ANA_COLUMN(10, "copied", GPU_COPIED),
                                                     {0, NULL, NULL}};
    size_t shown = ana_shown(look->rank_count, MOST);
    if (shown == 0)
        return;
    ana_page_table(p, "GPUS, shares of the run; exposed: NCCL with no computation beside it", columns);
    for (size_t i = 0; i < shown; i++) {
        const struct ana_rank *rank = ana_job_rank(p->job, look->ranks[i].index);
        char name[32];
        snprintf(name, sizeof name, "%" PRId32, rank ? rank->rank : -1);
        ana_page_row(p, columns);
        ana_page_cell(p, name);
        ana_page_cells(p, &look->ranks[i]);
    }
    ana_page_more(p, shown, look->rank_count, "ranks");
}

void ana_report_devices(struct ana_page *p)
{
    struct ana_gpu_look look;
    if (!ana_gpu_take_whole(p->job, &look))
        return;
    nccl(p, &look);
    kernels(p, &look);
    gpus(p, &look);
    if (look.copies) {
        char bytes[ANA_TEXT];
        fprintf(p->out, "  copies: %" PRIu64 ", %s\n", look.copies,
                ana_number(bytes, sizeof bytes, ANA_BYTES, (double)look.copied, p->utf8));
    }
    if (look.why_not[0])
        fprintf(p->out, "  %s\n", look.why_not);
    if (look.unmatched)
        fprintf(p->out, "  kernels of NCCL whose calls were not seen: %" PRIu64 "\n", look.unmatched);
    ana_gpu_look_free(&look);
}
