#include "tui/views/timeline.h"
#include "tui/views/sentences_impl.h"
#include "trace/util/sort.h"

enum { MOST = 64, LEAST_PART = 100 }; /* most entries in the list; a smaller part of the longest is not listed */

struct slow_instant {
    int64_t at_ns, ns; /* begin in job time, and length */
    size_t index;      /* index of the rank */
    char words[160];
};

ANA_COMPARE(by_length, struct slow_instant, ANA_ORDER(y->ns, x->ns))

/* Returns whether it begins in the time in view, and has not been listed. */
static bool is_new(const struct tui_app *app, const struct slow_instant *out, size_t n, int64_t at_ns, size_t index)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    for (size_t i = 0; i < n; i++)
        if (out[i].at_ns == at_ns && out[i].index == index)
            return false;
    return at_ns >= begin && at_ns < end;
}

/* Lists at most `max` of the slowest; returns their number. */
static size_t slowest(const struct tui_app *app, struct slow_instant *out, size_t max)
{
    const struct ana_summary *s = &app->summary;
    size_t n = 0;
    char cost[160];
    for (size_t i = 0; app->has_summary && i < s->outlier_count && n < max; i++) {
        const struct ana_outlier *of = &s->outliers[i];
        if (!is_new(app, out, n, of->at_ns, of->index))
            continue;
        out[n] = (struct slow_instant){.at_ns = of->at_ns, .ns = of->late_ns, .index = of->index};
        ana_outlier_words(app->job, of, out[n].words, sizeof out[n].words, cost, sizeof cost);
        n++;
    }
    for (size_t i = 0; app->has_summary && i < s->segment_count && n < max; i++) {
        const struct ana_segment_stat *of = &s->segments[i];
        if (of->longest_ns <= 0 || !is_new(app, out, n, of->longest_at_ns, of->longest_index))
            continue;
        out[n] = (struct slow_instant){.at_ns = of->longest_at_ns, .ns = of->longest_ns, .index = of->longest_index};
        ana_segment_words(of, out[n].words, sizeof out[n].words);
        n++;
    }
    for (size_t i = 0; app->has_summary && i < s->slow_count && n < max; i++) {
        const struct ana_slow_message *of = &s->slow[i];
        if (!is_new(app, out, n, of->at_ns, of->source))
            continue;
        out[n] = (struct slow_instant){.at_ns = of->at_ns, .ns = of->ns, .index = of->source};
        ana_slow_message_words(app->job, of, out[n].words, sizeof out[n].words);
        n++;
    }
    ana_sort(out, n, sizeof *out, by_length);
    while (n && out[n - 1].ns < out[0].ns / LEAST_PART)
        n--;
    return n;
}

void tui_slowest_show(struct tui_app *app, struct slow_place *place, int step)
{
    struct slow_instant slow[MOST];
    int n = (int)slowest(app, slow, MOST);
    place->at = place->of == app->summaries && place->at ? place->at + step : step > 0 ? 1 : n;
    place->of = app->summaries;
    place->at = place->at > n ? 1 : place->at < 1 ? n : place->at;
    if (!n) {
        snprintf(app->message, sizeof app->message, SAY_NOTHING_IS_KNOWN_TO);
        return;
    }
    const struct slow_instant *at = &slow[place->at - 1];
    tui_tree_reveal(app, at->index);
    tui_app_goto_time(app, at->at_ns);
    snprintf(app->message, sizeof app->message, "%d of %d: rank %s, %s  %.120s", place->at, n,
             TUI_RANK_NAME(app, at->index), ANA_SPOKEN((double)at->ns), at->words);
}

int tui_slowest_draw(const struct tui_app *app, const struct slow_place *place, struct tui_grid *grid,
                     struct tui_rect rect)
{
    struct slow_instant slow[MOST];
    int n = (int)slowest(app, slow, MOST), at = place && place->of == app->summaries ? place->at : 0;
    int top = at > rect.h - 1 ? at - (rect.h - 1) : 0;
    if (!n)
        return 0;
    tui_put(grid, rect, 1, 0, TUI_STYLE_STRONG, "TOOK LONGEST");
    tui_put(grid, rect, 15, 0, TUI_STYLE_DIM, place ? "(w: there, W: back)" : "");
    for (int i = 0; i + 1 < rect.h && top + i < n; i++) {
        const struct slow_instant *one = &slow[top + i];
        bool here = top + i + 1 == at;
        tui_putf(grid, rect, 1, i + 1, here ? TUI_STYLE_STRONG : TUI_STYLE_NORMAL, "%.3f  rank %s  %s  %s",
                 (double)one->at_ns / 1e9, TUI_RANK_NAME(app, one->index), ANA_SPOKEN((double)one->ns), one->words);
        if (here)
            tui_put(grid, rect, 0, i + 1, TUI_STYLE_STRONG, ">");
    }
    return n - top < rect.h ? n - top + 1 : rect.h;
}
