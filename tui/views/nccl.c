/* NCCL: its operations by communicator and size, with the times of their kernels. */
#include "trace/gpu/device.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/view.h"
#include "trace/util/hash.h"

static uint64_t identify_operation(const void *data, const void *row)
{
    const struct ana_nccl_stat *n = row;
    (void)data;
    return (ana_hash_text(n->call) ^ n->comm_identity) + (uint64_t)n->size_class;
}

static void show_skew(const void *data, const void *row, struct tui_value *out)
{
    (void)data;
    if (out->number > ((const struct ana_nccl_stat *)row)->transfer_p50_ns)
        out->style = TUI_STYLE_NOTABLE;
}

static void show_choice(const void *data, const void *row, struct tui_value *out)
{
    (void)data, (void)row;
    if (!out->text[0])
        snprintf(out->text, sizeof out->text, "%s", "unknown");
}

static void show_channels(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_nccl_stat *n = row;
    (void)data;
    out->number = NAN;
    if (n->channels_most == 0)
        snprintf(out->text, sizeof out->text, "%s", "unknown");
    else if (n->channels_least == n->channels_most)
        snprintf(out->text, sizeof out->text, "%u", n->channels_most);
    else
        snprintf(out->text, sizeof out->text, "%u..%u", n->channels_least, n->channels_most);
}

static void show_timed(const void *data, const void *row, struct tui_value *out)
{
    (void)row;
    if (!((const struct tui_app *)data)->gpu.known)
        out->number = NAN;
}

static const struct tui_column columns[] = {
    {TUI_METRIC(NCCL_NAME), 17, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(NCCL_COMM), 9, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(NCCL_CALLS), 6, 0, NULL},
    {TUI_METRIC(NCCL_SIZE), 7, 0, NULL},
    {TUI_METRIC(NCCL_ALGBW), 8, 0, NULL},
    {TUI_METRIC(NCCL_BUSBW), 8, 0, NULL},
    {TUI_METRIC(NCCL_TRANSFER), 8, 0, NULL},
    {TUI_METRIC(NCCL_SKEW_P50), 7, 0, show_skew},
    {TUI_METRIC(NCCL_SKEW_P99), 7, 0, NULL},
    {TUI_METRIC(NCCL_ALGORITHM), 9, TUI_STRETCH, show_choice},
    {TUI_METRIC(NCCL_PROTOCOL), 8, TUI_STRETCH, show_choice},
    {TUI_METRIC(NCCL_CHANNELS), 8, 0, show_channels},
    {TUI_METRIC(NCCL_KERNELS), 8, 0, NULL},
    {TUI_METRIC(NCCL_TIMED), 6, 0, show_timed},
    {TUI_METRIC(NCCL_BYTES), 8, 0, NULL},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(gpu.nccl, gpu.nccl_count),
                                           .identity = identify_operation};

/* Draws how many bytes each library carried in the selection. */
static void draw_carried(const struct tui_app *app, struct tui_grid *grid, struct tui_rect line)
{
    struct ana_carried by[ANA_LIBRARIES];
    char text[256], sent[ANA_TEXT], received[ANA_TEXT];
    size_t used = 0;
    ana_gpu_carried(&app->summary, &app->gpu, by);
    for (int i = 0; i < ANA_LIBRARIES; i++) {
        ana_metric_text(sent, sizeof sent, TUI_METRIC(LIBRARY_SENT), &by[i], &app->whole, true);
        ana_metric_text(received, sizeof received, TUI_METRIC(LIBRARY_RECEIVED), &by[i], &app->whole, true);
        if (i == ANA_LIBRARY_COPIES)
            used += (size_t)snprintf(text + used, sizeof text - used, "   copies %s", by[i].known ? sent : "unknown");
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s out, %s in", i ? "   " : "", by[i].name,
                                     sent, received);
    }
    tui_put(grid, line, 1, 0, TUI_STYLE_DIM, text);
}

static void draw_nccl(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_rect table = rect, foot = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    const char *note = app->gpu.nccl_forgotten ? SAY_THIS_IS_TOO : app->gpu.why_not;
    if (note[0] && rect.h > 3) {
        table.h--;
        tui_put(grid, foot, 1, 0, TUI_STYLE_NOTABLE, note);
        foot.y--;
    }
    if (app->node.ras.answers && table.h > 3) { /* RAS knows of processes that are gone, even when GPUs hang */
        char text[sizeof app->node.ras.text + 16];
        table.h--;
        snprintf(text, sizeof text, "%s%s", app->node.ras.doubt ? "" : "NCCL's RAS: ", app->node.ras.text);
        tui_put(grid, foot, 1, 0, app->node.ras.trouble ? TUI_STYLE_NOTABLE : TUI_STYLE_DIM, text);
    }
    if (table.h > 6) {
        table.h--;
        draw_carried(app, grid, (struct tui_rect){rect.x, table.y + table.h, rect.w, 1});
    }
    tui_table_draw(&app->table[TUI_VIEW_NCCL], grid, table);
}

/* Enter shows the GPUs. */
static int act_on_nccl(struct tui_app *app, enum tui_action action)
{
    return action == TUI_ACTION_DEEPER ? tui_app_open(app, TUI_VIEW_GPU) : TUI_UNHANDLED;
}

const struct tui_view tui_view_nccl = {
    .table = &spec,
    .draw = draw_nccl,
    .act = act_on_nccl,
};
