#include "tui/app/opening.h"
#include "trace/util/now.h"
#include "trace/util/numfmt.h"
#include "tui/term/keys.h"
#include "tui/widgets/layout.h"
#include "tui/widgets/plot.h"

enum { STEP_NS = 100000000 };

static void draw(struct tui_opening *o, size_t opened, size_t files)
{
    int cols, rows;
    o->term.ops->size(o->term.data, &cols, &rows);
    o->grid.ascii = o->term.ops->ascii(o->term.data);
    if ((cols != o->grid.cols || rows != o->grid.rows) && !tui_grid_resize(&o->grid, cols, rows))
        return;
    tui_grid_clear(&o->grid);
    struct tui_rect all = {0, 0, cols, rows}, line = {1, rows / 2, cols - 2, 1};
    tui_fill(&o->grid, (struct tui_rect){0, 0, cols, 1}, TUI_STYLE_JOB, ' ');
    int x = tui_put(&o->grid, all, 1, 0, TUI_STYLE_JOB, "hpctop  ");
    x = tui_put(&o->grid, all, x, 0, TUI_STYLE_JOB, o->folder);
    tui_put(&o->grid, all, x + 2, 0, TUI_STYLE_JOB_RUNNING, "OPENING");
    tui_putf(&o->grid, line, 1, 0, TUI_STYLE_NORMAL, "%s of %s files", ANA_NUMBER(ANA_COUNT, (double)opened, true),
             ANA_NUMBER(ANA_COUNT, (double)files, true));
    line.y++;
    tui_plot_bar(&o->grid, line, 1, 0, cols - 4, TUI_STYLE_BAR, (double)opened / (double)files);
    x = tui_put(&o->grid, all, 0, rows - 1, TUI_STYLE_KEY, "Esc");
    x = tui_put(&o->grid, all, x, rows - 1, TUI_STYLE_KEY_LABEL, "Show these");
    x = tui_put(&o->grid, all, x + 1, rows - 1, TUI_STYLE_KEY, "q");
    tui_put(&o->grid, all, x, rows - 1, TUI_STYLE_KEY_LABEL, "Quit");
    o->term.ops->show(o->term.data, &o->grid, false);
}

/* Reads the keys that have come; false: no more files are wanted. */
static bool read_keys(struct tui_opening *o)
{
    for (;;) {
        struct tui_event event = o->term.ops->wait(o->term.data, 0);
        if (event.kind == TUI_EVENT_NONE)
            return true;
        o->left = event.kind == TUI_EVENT_END ||
                  (event.kind == TUI_EVENT_KEY && (event.key == 'q' || event.key == tui_key_of("F10")));
        if (o->left || (event.kind == TUI_EVENT_KEY && event.key == TUI_KEY_ESCAPE))
            return false;
    }
}

bool tui_opening_step(void *user, size_t opened, size_t files)
{
    struct tui_opening *o = user;
    int64_t now = ana_now_ns();
    if (!o->began_ns) {
        o->began_ns = now;
        o->next_ns = now + STEP_NS;
    }
    if (now < o->next_ns)
        return true;
    o->next_ns = now + STEP_NS;
    if (!o->term.ops && !tui_term_curses(&o->term, o->colour, o->ascii, o->error, sizeof o->error)) {
        o->left = true;
        return false;
    }
    draw(o, opened, files);
    return read_keys(o);
}
