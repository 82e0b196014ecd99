/* The report's tables of GPUs and NCCL; nothing where there were none. */
#include "trace/report/page.h"

#include <inttypes.h>

#define MOST 12

static void put_nccl(struct ana_page *p, const struct ana_gpu_summary *look)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN(-18, "operation", NCCL_NAME),  ANA_COLUMN(-16, "communicator", NCCL_COMM),
        ANA_COLUMN(7, "calls", NCCL_CALLS),       ANA_COLUMN(8, "size", NCCL_SIZE),
        ANA_COLUMN(9, "algbw", NCCL_ALGBW),       ANA_COLUMN(9, "busbw", NCCL_BUSBW),
        ANA_COLUMN(9, "transfer", NCCL_TRANSFER), ANA_COLUMN(8, "skew", NCCL_SKEW_P50)};
    struct ana_table table = ANA_TABLE(columns, look->nccl, look->nccl_count);
    ana_page_table(p, "NCCL, bytes/s as nccl-tests; transfer: shortest kernel of the ranks, skew: longest less it",
                   table, MOST, "kinds", NULL);
}

static void kernel_name(const void *row, char *out, size_t size)
{
    ana_kernel_words(((const struct ana_kernel_stat *)row)->name, out, size);
}

static void put_kernels(struct ana_page *p, const struct ana_gpu_summary *look)
{
    static const struct ana_column columns[] = {ANA_COLUMN_WORDS(-38, "kernel", kernel_name),
                                                ANA_COLUMN(8, "calls", KERNEL_CALLS),
                                                ANA_COLUMN(8, "time", KERNEL_TIME),
                                                ANA_COLUMN(8, "p50", KERNEL_P50),
                                                ANA_COLUMN(8, "max", KERNEL_MAX),
                                                ANA_COLUMN(6, "ranks", KERNEL_RANKS)};
    struct ana_table table = ANA_TABLE(columns, look->kernels, look->kernel_count);
    ana_page_table(p, "KERNELS, by time", table, MOST, "kernels", NULL);
}

static void put_gpus(struct ana_page *p, const struct ana_gpu_summary *look)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN(5, "rank", GPU_RANK),       ANA_COLUMN(9, "compute", GPU_COMPUTE), ANA_COLUMN(9, "NCCL", GPU_NCCL),
        ANA_COLUMN(9, "overlap", GPU_OVERLAP), ANA_COLUMN(9, "exposed", GPU_EXPOSED), ANA_COLUMN(9, "copies", GPU_COPY),
        ANA_COLUMN(9, "idle", GPU_IDLE),       ANA_COLUMN(10, "copied", GPU_COPIED)};
    struct ana_table table = ANA_TABLE(columns, look->ranks, look->rank_count);
    ana_page_table(p, "GPUS, shares of the run; exposed: NCCL with no computation beside it", table, MOST, "ranks",
                   NULL);
}

void ana_page_devices(struct ana_page *p)
{
    struct ana_gpu_summary look;
    if (!ana_gpu_summarize_all(p->job, &look))
        return;
    put_nccl(p, &look);
    put_kernels(p, &look);
    put_gpus(p, &look);
    if (look.copies) {
        fprintf(p->out, "  copies: %" PRIu64 ", %s\n", look.copies,
                ANA_NUMBER(ANA_BYTES, (double)look.copied, p->utf8));
    }
    if (look.why_not[0])
        fprintf(p->out, "  %s\n", look.why_not);
    if (look.unmatched)
        fprintf(p->out, "  kernels of NCCL whose calls were not seen: %" PRIu64 "\n", look.unmatched);
    ana_gpu_summary_free(&look);
}
