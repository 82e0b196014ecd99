#include "tui/output/sampled.h"
#include "tui/output/sentences_impl.h"
#include "tui/sources/outside.h"
#include "tui/sources/running.h"
#include "trace/util/sort.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LATE  TUI_SAMPLES_LATE
#define OTHER TUI_SAMPLES_OTHER
enum { LINES = 3, ROWS = 10, CHANCE = 3 };

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

bool tui_is_here(const struct ana_rank *rank)
{
    return tui_is_this_host(rank->host) && (rank->state == ANA_RANK_RUN || rank->state == ANA_RANK_IN_MPI);
}

static void add_side(const struct ana_job *job, size_t index, enum tui_samples_side side, struct tui_sides *out)
{
    char *name = out->name[side];
    const size_t n = strlen(name);
    out->process[out->count++] = (struct tui_samples_process){(int)ana_job_rank(job, index)->pid, side};
    snprintf(name + n, sizeof out->name[side] - n, "%s%s", n ? "," : "rank ", ana_rank_label(job, index).text);
}

bool tui_choose_sides(const struct ana_job *job, const struct ana_summary *summary, const uint8_t *late,
                      struct tui_sides *out)
{
    size_t other = SIZE_MAX;
    *out = (struct tui_sides){0};
    for (size_t i = 0; i < summary->rank_count && i < ana_job_info(job).ranks; i++) {
        if (!tui_is_here(ana_job_rank(job, i)))
            continue;
        if (late[i] && out->count + 1 < TUI_SAMPLES_MOST)
            add_side(job, i, LATE, out);
        else if (!late[i] && (other == SIZE_MAX || summary->ranks[i].charged_ns < summary->ranks[other].charged_ns))
            other = i;
    }
    const bool found = out->count > 0;
    if (other != SIZE_MAX)
        add_side(job, other, OTHER, out);
    return found;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static double share(const struct tui_samples *s, const struct tui_samples_place *place, enum tui_samples_side side)
{
    return s->count[side] ? (double)place->count[side] / s->count[side] : 0;
}

/* Returns the late side's excess over the other's share, in standard errors. */
static double excess(const struct tui_samples *s, const struct tui_samples_place *place)
{
    const double n = s->count[LATE], m = s->count[OTHER], all = (place->count[LATE] + place->count[OTHER]) / (n + m);
    const double error = sqrt(all * (1 - all) * (1 / n + 1 / m));
    return error > 0 ? (share(s, place, LATE) - share(s, place, OTHER)) / error : 0;
}

ANA_COMPARE(by_late, struct tui_samples_place, ANA_ORDER(y->count[LATE], x->count[LATE]),
            ANA_ORDER(y->count[OTHER], x->count[OTHER]), strcmp(x->name, y->name))

/* A page that lines are passed to. */
struct page {
    tui_line_do *line;
    void *to;
};

static void __attribute__((format(printf, 3, 4)))
put(const struct page *page, enum tui_style style, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    page->line(page->to, style, text);
}

static void put_row(const struct tui_samples *s, const struct tui_samples_place *place, const struct page *page)
{
    char other[16] = "";
    if (s->count[OTHER])
        snprintf(other, sizeof other, SAY_SAMPLES_SHARE, 100 * share(s, place, OTHER));
    put(page, TUI_STYLE_NORMAL, SAY_SAMPLES_ROW, 100 * share(s, place, LATE), other, *place->line ? "  " : "",
        *place->line ? place->line : place->name);
}

/* Puts a function, and its lines if it is in several. */
static void put_function(const struct tui_samples *s, const struct tui_samples_place *function, const struct page *page)
{
    int lines = 0;
    put_row(s, function, page);
    for (size_t i = 0; i < s->places && lines < LINES; i++) {
        const struct tui_samples_place *place = &s->place[i];
        if (*place->line && strcmp(place->name, function->name) == 0 && place->count[LATE]) {
            put_row(s, place, page);
            lines++;
        }
    }
}

/* Puts the place where the late side is more often than chance explains. */
static void put_answer(const struct tui_samples *s, const struct tui_sides *sides, const struct page *page)
{
    const struct tui_samples_place *best = NULL, *line = NULL;
    for (size_t i = 0; i < s->places; i++) {
        const struct tui_samples_place *place = &s->place[i];
        if (!*place->line && strncmp(place->name, "in ", 3) != 0 && excess(s, place) > CHANCE &&
            (!best || place->count[LATE] > best->count[LATE]))
            best = place;
    }
    for (size_t i = 0; best && i < s->places && !line; i++)
        if (*s->place[i].line && strcmp(s->place[i].name, best->name) == 0)
            line = &s->place[i];
    if (best)
        put(page, TUI_STYLE_STRONG, SAY_IS_MORE_OFTEN_IN, sides->name[LATE], best->name, line ? " (" : "",
            line ? line->line : "", line ? ")" : "", 100 * share(s, best, LATE), sides->name[OTHER],
            100 * share(s, best, OTHER));
    else
        put(page, TUI_STYLE_NORMAL, SAY_NO_FUNCTION_OF, sides->name[LATE], sides->name[OTHER]);
}

void tui_sampled_lines(struct tui_samples *s, const struct tui_sides *sides, tui_line_do *line, void *to)
{
    const struct page page = {line, to};
    char words[160] = "";
    int rows = 0;
    ana_sort(s->place, s->places, sizeof *s->place, by_late);
    if (*sides->name[OTHER])
        snprintf(words, sizeof words, SAY_COMPARED_WITH, sides->name[OTHER], s->count[OTHER]);
    put(&page, TUI_STYLE_NORMAL, SAY_SAMPLES_OF, sides->name[LATE], s->count[LATE], s->runs ? SAY_SO_FAR : "", words);
    if (!s->count[LATE] && !s->runs) {
        tui_outside_why_not(words, sizeof words);
        put(&page, TUI_STYLE_NORMAL, "%s", words);
        return;
    }
    if (s->count[LATE] && s->count[OTHER])
        put_answer(s, sides, &page);
    put(&page, TUI_STYLE_NORMAL, "%s", "");
    put(&page, TUI_STYLE_LABEL, SAY_SAMPLES_TITLE, s->count[OTHER] ? SAY_OTHER_SIDE : "");
    for (size_t i = 0; i < s->places && rows < ROWS; i++)
        if (!*s->place[i].line) {
            put_function(s, &s->place[i], &page);
            rows++;
        }
}
