#include "tui/views/samples.h"
#include "tui/views/sentences_impl.h"
#include "tui/output/sampled.h"
#include "tui/views/pager.h"

#include <stdlib.h>

#define SECONDS 5.0

struct own {
    struct tui_pager pager;
    struct tui_sides sides;
    char segment[256];
    struct tui_samples samples;
};

TUI_STATE(SAMPLES)

/* Puts a line, in as many as needed. */
static void put_line(void *own, enum tui_style style, const char *text)
{
    struct tui_pager *pager = &((struct own *)own)->pager;
    if (tui_columns(text) > pager->rect.w)
        tui_wrap("", 2, text, pager->rect.w, tui_pager_line, pager);
    else
        tui_pager_line(pager, style, text);
}

static void draw_samples(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct own *o = own(app);
    tui_samples_copy(&o->samples);
    tui_pager_begin(&o->pager, grid, rect);
    put_line(o, TUI_STYLE_LABEL, o->segment);
    if (o->sides.count)
        tui_sampled_lines(&o->samples, &o->sides, put_line, o);
    tui_pager_end(&o->pager, SAY_ENTER_SAMPLE_AGAIN);
}

static int act_on_samples(struct tui_app *app, enum tui_action action)
{
    struct own *o = own(app);
    if (action != TUI_ACTION_DEEPER)
        return tui_pager_act(&o->pager, action);
    if (!tui_app_ended(app))
        tui_samples_start(o->sides.process, o->sides.count, SECONDS);
    return TUI_REDRAW;
}

bool tui_view_samples_may_open(const struct tui_app *app, const struct ana_segment_stat *segment)
{
    return !tui_app_ended(app) && segment->worst_index < app->rank_count &&
           tui_is_here(ana_job_rank(app->job, segment->worst_index));
}

int tui_view_samples_open(struct tui_app *app, const struct ana_segment_stat *segment)
{
    struct own *o = app->own[TUI_VIEW_SAMPLES];
    struct tui_sides sides;
    uint8_t *late = tui_view_samples_may_open(app, segment) ? calloc(app->rank_count, 1) : NULL;
    if (!late)
        return TUI_UNHANDLED;
    late[segment->worst_index] = 1;
    const bool here = tui_choose_sides(app->job, &app->summary, late, &sides);
    free(late);
    if (!here)
        return TUI_UNHANDLED;
    if (tui_samples_start(sides.process, sides.count, SECONDS)) {
        o->sides = sides;
        ana_segment_words(segment, o->segment, sizeof o->segment);
    }
    return tui_app_open(app, TUI_VIEW_SAMPLES);
}

const struct tui_view tui_view_samples = {
    .own_size = sizeof(struct own),
    .draw = draw_samples,
    .act = act_on_samples,
};
