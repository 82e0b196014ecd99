/* GPUs: which kernels the time goes to, and by rank what lies behind computation, what is exposed, what is idle. */
#include "trace/gpu/device.h"
#include "tui/app/view.h"
#include "trace/util/hash.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL, CALLS, TIME, SHARE, P50, P99, MAX, RANKS };

static const struct tui_column columns[] = {
    [KERNEL] = {"KERNEL", 30, TUI_UNIT_TEXT, true, true, "name of the kernel, without what is in angle brackets"},
    [CALLS] = {"CALLS", 6, ANA_COUNT, false, false, "times it ran, on all ranks"},
    [TIME] = {"TIME", 7, ANA_NS, false, false, "time it ran, summed over ranks"},
    [SHARE] = {"OF ALL", 6, ANA_SHARE, false, false, "TIME / TIME of all kernels"},
    [P50] = {"p50", 7, ANA_NS, false, false, "half of the times it took no longer (within 1/16)"},
    [P99] = {"p99", 7, ANA_NS, false, false, "99 % of the times it took no longer (within 1/16)"},
    [MAX] = {"max", 7, ANA_NS, false, false, "the longest"},
    [RANKS] = {"RANKS", 5, ANA_COUNT, false, false, "ranks that ran it"},
};

static size_t rows(const void *data)
{
    return ((const struct tui_app *)data)->gpu.kernel_count;
}

static uint64_t identity(const void *data, size_t row)
{
    return ana_hash_text(((const struct tui_app *)data)->gpu.kernels[row].name);
}

static double all_time(const struct tui_app *app)
{
    double sum = 0;
    for (size_t i = 0; i < app->gpu.kernel_count; i++)
        sum += (double)app->gpu.kernels[i].times.total_ns;
    return sum;
}

static void value(const void *data, size_t row, int column, struct tui_value *out)
{
    const struct tui_app *app = data;
    const struct ana_kernel_stat *k = &app->gpu.kernels[row];
    switch (column) {
    case KERNEL:
        ana_kernel_words(k->name, out->text, sizeof out->text);
        break;
    case CALLS:
        out->number = (double)k->times.count;
        break;
    case TIME:
        out->number = (double)k->times.total_ns;
        break;
    case SHARE:
        out->number = (double)k->times.total_ns / all_time(app);
        break;
    case P50:
        out->number = k->times.p50_ns;
        break;
    case P99:
        out->number = k->times.p99_ns;
        break;
    case MAX:
        out->number = k->times.max_ns;
        break;
    case RANKS:
        out->number = (double)k->ranks;
        break;
    }
}

static const struct tui_table_spec spec = {columns, sizeof columns / sizeof *columns, TIME, rows, value, identity, NULL,
                                           NULL};

/* ---- by rank -------------------------------------------------------------------------------------------------------
 */

static int by_exposed(const void *pa, const void *pb)
{
    const struct ana_gpu_rank *a = pa, *b = pb;
    int64_t x = a->communication_ns - a->overlap_ns, y = b->communication_ns - b->overlap_ns;
    return x != y ? (x < y) - (x > y) : (a->index > b->index) - (a->index < b->index);
}

static const struct {
    const char *title;
    int right; /* column that its numbers end at */
    enum ana_unit unit;
} parts[] = {{"RANK", 5, ANA_COUNT},     {"COMPUTE", 14, ANA_SHARE}, {"NCCL", 22, ANA_SHARE},
             {"OVERLAP", 31, ANA_SHARE}, {"EXPOSED", 40, ANA_SHARE}, {"COPIES", 48, ANA_SHARE},
             {"IDLE", 56, ANA_SHARE},    {"TO GPU", 65, ANA_BYTES},  {"FROM", 74, ANA_BYTES}};
enum { PARTS = sizeof parts / sizeof *parts };

static void draw_rank(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int y,
                      const struct ana_gpu_rank *r)
{
    char text[ANA_TEXT];
    double wall = r->wall_ns > 0 ? (double)r->wall_ns : NAN;
    double exposed = (double)(r->communication_ns - r->overlap_ns) / wall;
    const double number[PARTS] = {NAN,
                                  (double)r->compute_ns / wall,
                                  (double)r->communication_ns / wall,
                                  ana_gpu_overlap(r),
                                  exposed,
                                  (double)r->copy_ns / wall,
                                  fmax(1 - (double)r->busy_ns / wall, 0),
                                  (double)r->to_device,
                                  (double)r->from_device};
    for (int i = 0; i < PARTS && parts[i].right <= rect.w; i++) {
        bool notable = number[i] >= 0.1 && strcmp(parts[i].title, "EXPOSED") == 0;
        if (i == 0)
            tui_app_rank_name(app, r->index, text, sizeof text);
        else
            ana_number(text, sizeof text, parts[i].unit, number[i], true);
        tui_put_right(grid, rect, parts[i].right, y, notable ? TUI_STYLE_NOTABLE : TUI_STYLE_NORMAL, text);
    }
}

static void draw_ranks(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_gpu_look *look = &app->gpu;
    struct ana_gpu_rank *sorted = calloc(look->rank_count + 1, sizeof *sorted);
    if (!sorted)
        return;
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    for (int i = 0; i < PARTS && parts[i].right <= rect.w; i++)
        tui_put_right(grid, rect, parts[i].right, 0, TUI_STYLE_HEADER, parts[i].title);
    size_t n = 0;
    for (size_t i = 0; i < look->rank_count; i++)
        if (!app->tagged_count || app->tagged[look->ranks[i].index])
            sorted[n++] = look->ranks[i];
    qsort(sorted, n, sizeof *sorted, by_exposed);
    for (size_t i = 0; i < n && (int)i + 1 < rect.h; i++)
        draw_rank(app, grid, rect, (int)i + 1, &sorted[i]);
    free(sorted);
}

/* What NVML says of the GPUs of the machine that hpctop runs on. */
static const struct {
    const char *title;
    int right;
    enum ana_unit unit;
} here[] = {{"BUSY", 30, ANA_SHARE},
            {"NVLINK OUT", 42, ANA_BYTES},
            {"IN", 51, ANA_BYTES},
            {"PCIE OUT", 61, ANA_BYTES},
            {"IN", 70, ANA_BYTES}};
enum { HERE = sizeof here / sizeof *here };

static void draw_node(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    char text[ANA_TEXT + 8];
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    tui_put(grid, rect, 1, 0, TUI_STYLE_HEADER, "THIS NODE, NOW, /s");
    for (int i = 0; i < HERE && here[i].right <= rect.w; i++)
        tui_put_right(grid, rect, here[i].right, 0, TUI_STYLE_HEADER, here[i].title);
    for (size_t g = 0; g < app->node.gpu_count && (int)g + 1 < rect.h; g++) {
        const struct tui_node_gpu *gpu = &app->node.gpu[g];
        const double number[HERE] = {gpu->busy, gpu->nvlink_sent, gpu->nvlink_received, gpu->pcie_sent,
                                     gpu->pcie_received};
        char name[96];
        snprintf(name, sizeof name, "%zu %.20s", g, gpu->name);
        tui_put(grid, rect, 1, (int)g + 1, TUI_STYLE_NORMAL, name);
        for (int i = 0; i < HERE && here[i].right <= rect.w; i++)
            tui_put_right(grid, rect, here[i].right, (int)g + 1, TUI_STYLE_NORMAL,
                          ana_number(text, sizeof text, here[i].unit, number[i], true));
    }
}

static void draw(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_GPU];
    struct tui_rect above = rect, out[3];
    if (app->gpu.why_not[0] && rect.h > 3) {
        above.h--;
        tui_put(grid, (struct tui_rect){rect.x, rect.y + rect.h - 1, rect.w, 1}, 1, 0, TUI_STYLE_NOTABLE,
                app->gpu.why_not);
    }
    if (!app->gpu.known) {
        tui_put(grid, above, 1, 0, TUI_STYLE_DIM, "nothing is known of what ran on the GPUs");
        return;
    }
    int want = (int)app->gpu.rank_count + 1;
    int node = app->node.gpu_count ? (int)app->node.gpu_count + 1 : 0;
    struct tui_part parts_of[] = {{4, 0, 2}, {3, want, 0}, {2, node, 1}};
    tui_stack(above, false, 1, parts_of, node ? 3 : 2, out);
    tui_table_draw(table, &spec, app, grid, out[0]);
    if (out[1].h)
        draw_ranks(app, grid, out[1]);
    if (node && out[2].h)
        draw_node(app, grid, out[2]);
}

static const struct tui_term_help terms[] = {
    {"COMPUTE",
     "time in which a kernel that is not NCCL's ran / time between MPI_Init and MPI_Finalize (of the process, "
     "where it has no MPI), for each GPU"},
    {"NCCL", "the same of NCCL's kernels; waiting for other ranks is in it"},
    {"OVERLAP", "share of NCCL's time in which another kernel ran, too: (NCCL and computing at once) / NCCL"},
    {"EXPOSED", "time of NCCL's kernels with no other kernel beside them: what communication costs"},
    {"COPIES", "the same of copies between host and GPU and on the GPU"},
    {"IDLE", "nothing of this ran"},
    {"TO GPU, FROM", "bytes copied to the rank's GPUs and back"},
    {"THIS NODE", "what NVML says of the GPUs of the machine that hpctop runs on, whoever uses them: share of the time "
                  "that a kernel "
                  "ran, and what goes over NVLink and PCIe"},
    {NULL, NULL}};

const struct tui_view tui_view_gpu = {
    .title = "GPU",
    .about = "Which kernels take the GPUs' time, and how much of the communication is hidden behind them?",
    .table = &spec,
    .terms = terms,
    .draw = draw,
};
