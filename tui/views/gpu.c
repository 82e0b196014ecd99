/* GPUs: the kernels that take the time; for each rank how much communication is hidden or exposed, and the idle
 * time. */
#include "trace/gpu/device.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/view.h"
#include "trace/util/sort.h"

static void show_name(const void *data, const void *row, struct tui_value *out)
{
    (void)data;
    ana_kernel_words(((const struct ana_kernel_stat *)row)->name, out->text, sizeof out->text);
}

static const struct tui_column columns[] = {
    {TUI_METRIC(KERNEL_NAME), 30, TUI_ASCENDING | TUI_STRETCH, show_name},
    {TUI_METRIC(KERNEL_CALLS), 6, 0, NULL},
    {TUI_METRIC(KERNEL_TIME), 7, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(KERNEL_SHARE), 6, 0, NULL},
    {TUI_METRIC(KERNEL_P50), 7, 0, NULL},
    {TUI_METRIC(KERNEL_P99), 7, 0, NULL},
    {TUI_METRIC(KERNEL_MAX), 7, 0, NULL},
    {TUI_METRIC(KERNEL_RANKS), 5, 0, NULL},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(gpu.kernels, gpu.kernel_count),
                                           .name = offsetof(struct ana_kernel_stat, name)};

/* ---- by rank ---------------------------------------------------------------------------------------------------- */

ANA_COMPARE(compare_exposed, struct ana_gpu_rank,
            ANA_ORDER(y->communication_ns - y->overlap_ns, x->communication_ns - x->overlap_ns),
            ANA_ORDER(x->index, y->index))

static const struct {
    const struct ana_metric *metric;
    int right; /* column that its numbers end at */
} parts[] = {{TUI_METRIC(GPU_RANK), 5},     {TUI_METRIC(GPU_COMPUTE), 14}, {TUI_METRIC(GPU_NCCL), 22},
             {TUI_METRIC(GPU_OVERLAP), 31}, {TUI_METRIC(GPU_EXPOSED), 40}, {TUI_METRIC(GPU_COPY), 48},
             {TUI_METRIC(GPU_IDLE), 56},    {TUI_METRIC(GPU_TO), 65},      {TUI_METRIC(GPU_FROM), 74}};
enum { PARTS = sizeof parts / sizeof *parts };

static void draw_rank(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int y,
                      const struct ana_gpu_rank *r)
{
    char text[ANA_TEXT];
    for (int i = 0; i < PARTS && parts[i].right <= rect.w; i++) {
        double number = ana_metric_number(parts[i].metric, r, &app->whole);
        bool notable = number >= 0.1 && parts[i].metric == TUI_METRIC(GPU_EXPOSED);
        if (i == 0)
            tui_app_rank_name(app, r->index, text, sizeof text);
        else
            ana_number(text, sizeof text, (enum ana_unit)parts[i].metric->unit, number, true);
        tui_put_right(grid, rect, parts[i].right, y, notable ? TUI_STYLE_NOTABLE : TUI_STYLE_NORMAL, text);
    }
}

static void draw_ranks(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_gpu_summary *look = &app->gpu;
    struct ana_gpu_rank *sorted = calloc(look->rank_count + 1, sizeof *sorted);
    if (!sorted)
        return;
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    for (int i = 0; i < PARTS && parts[i].right <= rect.w; i++)
        tui_put_right(grid, rect, parts[i].right, 0, TUI_STYLE_HEADER, parts[i].metric->title);
    size_t n = 0;
    for (size_t i = 0; i < look->rank_count; i++)
        if (!app->tagged_count || app->tagged[look->ranks[i].index])
            sorted[n++] = look->ranks[i];
    ana_sort(sorted, n, sizeof *sorted, compare_exposed);
    for (size_t i = 0; i < n && (int)i + 1 < rect.h; i++)
        draw_rank(app, grid, rect, (int)i + 1, &sorted[i]);
    free(sorted);
}

/* Values that NVML has for the GPUs of the machine that hpctop runs on. */
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

static void draw_gpus(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_GPU];
    struct tui_rect above = rect, out[3];
    if (app->gpu.why_not[0] && rect.h > 3) {
        above.h--;
        tui_put(grid, (struct tui_rect){rect.x, rect.y + rect.h - 1, rect.w, 1}, 1, 0, TUI_STYLE_NOTABLE,
                app->gpu.why_not);
    }
    if (!app->gpu.known) {
        tui_put(grid, above, 1, 0, TUI_STYLE_DIM, SAY_NOTHING_IS_KNOWN);
        return;
    }
    int want = (int)app->gpu.rank_count + 1;
    int node = app->node.gpu_count ? (int)app->node.gpu_count + 1 : 0;
    struct tui_part parts_of[] = {{4, 0, 2}, {3, want, 0}, {2, node, 1}};
    tui_stack(above, false, 1, parts_of, node ? 3 : 2, out);
    tui_table_draw(table, grid, out[0]);
    if (out[1].h)
        draw_ranks(app, grid, out[1]);
    if (node && out[2].h)
        draw_node(app, grid, out[2]);
}

const struct tui_view tui_view_gpu = {
    .table = &spec,
    .draw = draw_gpus,
};
