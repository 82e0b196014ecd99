/* NCCL: its operations by communicator and size, with the times of their kernels. */
#include "trace/gpu/device.h"
#include "tui/app/view.h"
#include "trace/util/hash.h"

#include <math.h>

enum {
    OPERATION,
    COMM,
    CALLS,
    SIZE,
    ALGBW,
    BUSBW,
    TRANSFER,
    SKEW50,
    SKEW99,
    HOW,
    PROTOCOL,
    CHANNELS,
    KERNELS,
    TIMED,
    BYTES
};

static const struct tui_column columns[] = {
    [OPERATION] = {"OPERATION", 17, TUI_UNIT_TEXT, true, true, "the call of NCCL"},
    [COMM] = {"COMM", 9, TUI_UNIT_TEXT, true, true, "communicator: its name, or its number and size"},
    [CALLS] = {"CALLS", 6, ANA_COUNT, false, false, "calls of all ranks"},
    [SIZE] = {"SIZE", 7, ANA_BYTES, false, false, "bytes of one operation, as nccl-tests counts them"},
    [ALGBW] = {"ALGBW/s", 8, ANA_BYTES, false, false, "algorithm bandwidth: SIZE / TRANSFER, mean over the timed ones"},
    [BUSBW] = {"BUSBW/s", 8, ANA_BYTES, false, false,
               "bus bandwidth: ALGBW x 2(n-1)/n for all-reduce, (n-1)/n for all-gather, reduce-scatter, all-to-all, "
               "gather and scatter, 1 for the others; n ranks.  It compares with the link whatever n is"},
    [TRANSFER] =
        {"TRANSFER", 8, ANA_NS, false, false,
         "shortest kernel among the ranks, in half of the operations no longer: who comes last waits for nobody"},
    [SKEW50] = {"SKEW", 7, ANA_NS, false, false,
                "longest kernel - shortest among the ranks: how long they waited for each "
                "other, in half of the operations no longer"},
    [SKEW99] = {"p99", 7, ANA_NS, false, false, "the same, in 99 % of the operations no longer"},
    [HOW] = {"ALGORITHM", 9, TUI_UNIT_TEXT, false, true,
             "RING, TREE, NVLS, COLLNET or PAT, as NCCL tells its profiler plugin; several: not always the same"},
    [PROTOCOL] = {"PROTOCOL", 8, TUI_UNIT_TEXT, false, true, "LL, LL128 or SIMPLE, the same"},
    [CHANNELS] = {"CHANNELS", 8, TUI_UNIT_TEXT, false, false, "channels that it takes, the same"},
    [KERNELS] = {"KERNELS", 8, ANA_NS, false, false, "time of its kernels, summed over ranks"},
    [TIMED] =
        {"TIMED", 6, ANA_COUNT, false, false,
         "operations whose kernels are known on all ranks (of sends and receives: on their own).  Several collectives "
         "in one group share a kernel: they have no times of their own"},
    [BYTES] = {"BYTES", 8, ANA_BYTES, false, false, "SIZE of all calls together"},
};

static size_t rows(const void *data)
{
    return ((const struct tui_app *)data)->gpu.nccl_count;
}

static uint64_t identity(const void *data, size_t row)
{
    const struct ana_nccl_stat *n = &((const struct tui_app *)data)->gpu.nccl[row];
    return (ana_hash_text(n->call) ^ n->comm_identity) + (uint64_t)n->size_class;
}

static void value(const void *data, size_t row, int column, struct tui_value *out)
{
    const struct tui_app *app = data;
    const struct ana_nccl_stat *n = &app->gpu.nccl[row];
    double bytes = n->bytes == UINT64_MAX ? NAN : (double)n->bytes;
    switch (column) {
    case OPERATION:
        snprintf(out->text, sizeof out->text, "%s", n->call);
        break;
    case COMM:
        snprintf(out->text, sizeof out->text, "%s", n->comm_name);
        break;
    case CALLS:
        out->number = (double)n->calls;
        break;
    case SIZE:
        out->number = n->calls ? bytes / (double)n->calls : NAN;
        break;
    case ALGBW:
        out->number = n->algbw;
        break;
    case BUSBW:
        out->number = n->busbw;
        break;
    case TRANSFER:
        out->number = n->transfer_p50_ns;
        break;
    case SKEW50:
        out->number = n->skew_p50_ns;
        if (out->number > n->transfer_p50_ns)
            out->style = TUI_STYLE_NOTABLE;
        break;
    case SKEW99:
        out->number = n->skew_p99_ns;
        break;
    case HOW:
    case PROTOCOL:
        snprintf(out->text, sizeof out->text, "%s", column == HOW ? n->algorithm : n->protocol);
        if (!out->text[0])
            snprintf(out->text, sizeof out->text, "%s", "unknown");
        break;
    case CHANNELS:
        if (n->channels_most == 0)
            snprintf(out->text, sizeof out->text, "%s", "unknown");
        else if (n->channels_least == n->channels_most)
            snprintf(out->text, sizeof out->text, "%u", n->channels_most);
        else
            snprintf(out->text, sizeof out->text, "%u..%u", n->channels_least, n->channels_most);
        break;
    case KERNELS:
        out->number = n->kernel_ns > 0 ? (double)n->kernel_ns : NAN; /* none was found */
        break;
    case TIMED:
        out->number = app->gpu.known ? (double)n->timed : NAN;
        break;
    case BYTES:
        out->number = bytes;
        break;
    }
}

static const struct tui_table_spec spec = {columns, sizeof columns / sizeof *columns, -1, rows, value, identity, NULL,
                                           NULL};

/* Which library carried which bytes, in the selection. */
static void draw_carried(const struct tui_app *app, struct tui_grid *grid, struct tui_rect line)
{
    struct ana_carried by[ANA_LIBRARIES];
    char text[256], sent[ANA_TEXT], received[ANA_TEXT];
    size_t used = 0;
    ana_gpu_carried(&app->summary, &app->gpu, by);
    for (int i = 0; i < ANA_LIBRARIES; i++) {
        double unknown = by[i].known ? 0 : NAN;
        ana_number(sent, sizeof sent, ANA_BYTES, (double)by[i].sent + unknown, true);
        ana_number(received, sizeof received, ANA_BYTES, (double)by[i].received + unknown, true);
        if (i == ANA_LIBRARY_COPIES)
            used += (size_t)snprintf(text + used, sizeof text - used, "   copies %s", by[i].known ? sent : "unknown");
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s out, %s in", i ? "   " : "", by[i].name,
                                     sent, received);
    }
    tui_put(grid, line, 1, 0, TUI_STYLE_DIM, text);
}

static void draw(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_rect table = rect, foot = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    const char *note = app->gpu.nccl_forgotten
                           ? "this is too long ago: not all of NCCL's operations of this time are known any more"
                           : app->gpu.why_not;
    if (note[0] && rect.h > 3) {
        table.h--;
        tui_put(grid, foot, 1, 0, TUI_STYLE_NOTABLE, note);
        foot.y--;
    }
    if (app->node.ras.answers && table.h > 3) { /* which knows of processes that are gone, also when the GPUs hang */
        char text[sizeof app->node.ras.text + 16];
        table.h--;
        snprintf(text, sizeof text, "%s%s", app->node.ras.doubt ? "" : "NCCL's RAS: ", app->node.ras.text);
        tui_put(grid, foot, 1, 0, app->node.ras.trouble ? TUI_STYLE_NOTABLE : TUI_STYLE_DIM, text);
    }
    if (table.h > 6) {
        table.h--;
        draw_carried(app, grid, (struct tui_rect){rect.x, table.y + table.h, rect.w, 1});
    }
    tui_table_draw(&app->table[TUI_VIEW_NCCL], &spec, app, grid, table);
}

/* Deeper: whose GPUs these are. */
static int act(struct tui_app *app, enum tui_action action)
{
    if (action != TUI_ACTION_DEEPER)
        return TUI_UNHANDLED;
    tui_app_open(app, TUI_VIEW_GPU);
    return TUI_REDRAW;
}

const struct tui_view tui_view_nccl = {
    .title = "NCCL",
    .about = "How fast is NCCL, on which communicator and at which size, and who waits in it?  Enter: the GPUs.",
    .table = &spec,
    .draw = draw,
    .act = act,
};
