/* State, selection and cursor. */
#include "tui/app/view.h"
#include "tui/app/sentences_impl.h"
#include "trace/headline/headline.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"

#include <string.h>

enum { SHORTEST_RANGE_NS = 1000 };

const struct tui_view *tui_app_view(const struct tui_app *app)
{
    return app->views[app->view];
}

bool tui_app_ended(const struct tui_app *app)
{
    return app->info.state == ANA_FINISHED || app->info.state == ANA_ABORTED;
}

void tui_show_loss(const void *app, const void *row, struct tui_value *out)
{
    (void)app, (void)row;
    if (out->number >= 0.05)
        out->style = TUI_STYLE_NOTABLE;
}

const struct ana_rank_stat *tui_app_stat(const struct tui_app *app, size_t index)
{
    const struct ana_summary *s = &app->summary;
    if (!app->has_summary)
        return NULL;
    if (index < s->rank_count && s->ranks[index].index == index)
        return &s->ranks[index];
    size_t at = ANA_FIRST(i, s->rank_count, s->ranks[i].index < index);
    return at < s->rank_count && s->ranks[at].index == index ? &s->ranks[at] : NULL;
}

const char *tui_app_rank_name(const struct tui_app *app, size_t index, char *out, size_t size)
{
    snprintf(out, size, "%s",
             index < app->rank_count ? ana_label_of(ana_rank_id(&app->rank[index])).text : "\xe2\x80\x93");
    return out;
}

size_t tui_app_shown(const struct tui_app *app)
{
    return app->tagged_count ? app->tagged_count : app->rank_count;
}

size_t tui_app_shown_rank(const struct tui_app *app, size_t i)
{
    if (!app->tagged_count)
        return i;
    for (size_t r = 0; r < app->rank_count; r++)
        if (app->tagged[r] && i-- == 0)
            return r;
    return app->rank_count - 1;
}

size_t tui_app_shown_position(const struct tui_app *app, size_t index)
{
    if (!app->tagged_count)
        return index < app->rank_count ? index : 0;
    size_t position = 0;
    for (size_t r = 0; r < app->rank_count && r < index; r++)
        position += app->tagged[r] != 0;
    return position < app->tagged_count ? position : app->tagged_count - 1;
}

/* ---- the range of time in view ---------------------------------------------------------------------------------- */

static int64_t get_job_end(const struct tui_app *app)
{
    return app->info.elapsed_ns > SHORTEST_RANGE_NS ? app->info.elapsed_ns : SHORTEST_RANGE_NS;
}

void tui_app_range(const struct tui_app *app, int64_t *begin_ns, int64_t *end_ns)
{
    const int64_t end = get_job_end(app), first = app->info.run_begin_ns < end ? app->info.run_begin_ns : 0;
    *begin_ns = !app->all_time                   ? app->begin_ns
                : app->view != TUI_VIEW_TIMELINE ? 0
                : tui_app_scrolls(app)           ? end - TUI_SCROLLED_NS
                                                 : first;
    *end_ns = app->all_time ? end : app->end_ns;
}

struct ana_selection tui_app_selection(const struct tui_app *app)
{
    struct ana_selection selection = app->filter;
    if (!app->all_time) {
        selection.begin_ns = app->begin_ns;
        selection.end_ns = app->end_ns;
    }
    if (app->tagged_count)
        selection.ranks = app->tagged;
    return selection;
}

void tui_app_set_range(struct tui_app *app, int64_t begin_ns, int64_t end_ns)
{
    int64_t end = get_job_end(app), width = end_ns - begin_ns;
    if (width < SHORTEST_RANGE_NS)
        width = SHORTEST_RANGE_NS;
    if (width > end)
        width = end;
    if (begin_ns > end - width)
        begin_ns = end - width;
    if (begin_ns < 0)
        begin_ns = 0;
    bool all = width >= end;
    if (all == app->all_time && (all || (begin_ns == app->begin_ns && begin_ns + width == app->end_ns)))
        return;
    app->all_time = all;
    app->begin_ns = begin_ns;
    app->end_ns = begin_ns + width;
    if (all)
        app->follow = false;
    app->stale = true;
    if (app->cursor_ns < begin_ns)
        app->cursor_ns = begin_ns;
    if (app->cursor_ns >= begin_ns + width)
        app->cursor_ns = begin_ns + width - 1;
}

int64_t tui_app_known_end(const struct tui_app *app)
{
    enum { PARTS = 4 };
    double part[PARTS];
    struct ana_selection s = {.begin_ns = 0, .end_ns = get_job_end(app)};
    while (s.end_ns - s.begin_ns >= PARTS) {
        int64_t from = s.begin_ns, width = s.end_ns - from;
        int last = PARTS - 1;
        ana_series(app->job, s, PARTS, (double *[ANA_SERIES_KINDS]){[ANA_SERIES_CALLS] = part});
        while (last >= 0 && isnan(part[last]))
            last--;
        if (last < 0)
            break;
        s.begin_ns = from + width * last / PARTS;
        s.end_ns = last == PARTS - 1 ? s.end_ns : from + width * (last + 1) / PARTS;
    }
    return s.begin_ns > 0 ? s.end_ns : 0;
}

void tui_app_follow_end(struct tui_app *app)
{
    if (!app->follow || app->all_time)
        return;
    int64_t width = app->end_ns - app->begin_ns, end = tui_app_known_end(app);
    int64_t shift = (end > width ? end : width) - app->end_ns;
    app->begin_ns += shift;
    app->end_ns += shift;
    app->cursor_ns += shift;
    app->stale = app->stale || shift;
    if (app->cursor_at_end)
        app->cursor_ns = app->end_ns - 1;
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

static bool is_in_group(const struct tui_group *g, const struct ana_rank *r)
{
    return g->state == r->state &&
           (g->inside == r->inside || (g->inside && r->inside && !strcmp(g->inside, r->inside)));
}

ANA_COMPARE(compare_counts, struct tui_group, ANA_ORDER(x->count, y->count))

static void group_ranks(struct tui_app *app)
{
    app->group_count = 0;
    for (size_t i = 0; i < app->rank_count; i++) {
        const struct ana_rank *r = &app->rank[i];
        int g = 0;
        while (g < app->group_count && !is_in_group(&app->group[g], r))
            g++;
        if (g == TUI_GROUPS)
            g--;
        else if (g == app->group_count)
            app->group[app->group_count++] = (struct tui_group){r->state, r->inside, 0};
        app->group[g].count++;
    }
    ana_sort(app->group, (size_t)app->group_count, sizeof *app->group, compare_counts);
}

const struct tui_group *tui_app_group(const struct tui_app *app, size_t index)
{
    for (int g = 0; g < app->group_count; g++)
        if (is_in_group(&app->group[g], &app->rank[index]))
            return &app->group[g];
    return &app->group[0];
}

/* False: their indices mean other ranks now. */
static bool copy_ranks(struct tui_app *app)
{
    size_t n = app->info.ranks;
    bool same = app->info.generation == app->generation;
    if (!same) {
        app->cursor_rank = tui_tree_again(app, app->cursor_rank);
        app->cursor_peer = tui_tree_again(app, app->cursor_peer);
    }
    if (!same) { /* the tags belong to indices that now mean other ranks */
        app->generation = app->info.generation;
        app->tagged_count = 0;
        if (app->rank_count)
            memset(app->tagged, 0, app->rank_count);
    }
    if (n != app->rank_count) {
        struct ana_rank *rank = realloc(app->rank, (n ? n : 1) * sizeof *rank);
        if (rank)
            app->rank = rank;
        uint8_t *tagged = realloc(app->tagged, n ? n : 1);
        if (tagged)
            app->tagged = tagged;
        if (!rank || !tagged)
            return same; /* the old ranks stay in view */
        if (n > app->rank_count)
            memset(tagged + app->rank_count, 0, n - app->rank_count);
        app->rank_count = n;
    }
    for (size_t i = 0; i < n; i++)
        app->rank[i] = *ana_job_rank(app->job, i);
    group_ranks(app);
    return same;
}

/* Headline and verdict are of the same moment. */
static void update_headline(struct tui_app *app)
{
    app->weight = ana_headline(app->job, &app->summary, &app->gpu, app->headline, sizeof app->headline);
    const struct ana_verdict *verdict = ana_job_verdict(app->job);
    if (!verdict)
        return; /* the old one stays in view */
    ana_verdict_release(app->verdict);
    app->verdict = ana_verdict_hold(verdict);
}

static void make_summary(struct tui_app *app)
{
    struct ana_summary summary;
    if (ana_summarize(app->job, tui_app_selection(app), &summary) != TRC_OK) {
        snprintf(app->message, sizeof app->message, SAY_OUT_OF_MEMORY);
        return;
    }
    if (app->has_summary)
        ana_summary_free(&app->summary);
    app->summary = summary;
    app->has_summary = true;
    app->summaries++;
    app->stale = false;
    app->analysed = summary.analysed;
    struct ana_gpu_summary gpu;
    app->node = (struct tui_node){0};
    tui_node_sample(app->job, &app->node);
    ana_gpu_summary_free(&app->gpu);
    if (ana_gpu_summarize(app->job, tui_app_selection(app), &gpu)) {
        app->gpu = gpu;
        app->analysed = gpu.analysed < app->analysed ? gpu.analysed : app->analysed;
    }
    app->whole = ana_whole_of(NULL, &app->summary, &app->gpu);
    update_headline(app);
    tui_app_update_table(app);
}

/* A job in trouble opens with the verdict; Esc leads to the overview. */
static void show_trouble(struct tui_app *app)
{
    bool trouble = app->verdict->state == ANA_VERDICT_HUNG || app->verdict->state == ANA_VERDICT_ABORTED;
    if (trouble && !app->touched && app->view == TUI_VIEW_OVERVIEW)
        tui_app_open(app, TUI_VIEW_VERDICT);
}

bool tui_app_update(struct tui_app *app)
{
    app->info = ana_job_info(app->job);
    bool same = copy_ranks(app);
    if (app->cursor_at_end)
        app->cursor_ns = get_job_end(app) - 1;
    tui_app_follow_end(app);
    app->horovod = ana_job_horovod(app->job);
    return same;
}

void tui_app_load(struct tui_app *app)
{
    if (!app->frozen)
        tui_app_update(app);
    make_summary(app);
    show_trouble(app);
}

void tui_app_settle(struct tui_app *app)
{
    if (app->stale || !app->has_summary)
        make_summary(app);
}

bool tui_app_init(struct tui_app *app, struct ana_job *job, const struct tui_view *const *views)
{
    *app = (struct tui_app){.job = job,
                            .views = views,
                            .all_time = true,
                            .scrolls = true,
                            .view = TUI_VIEW_OVERVIEW,
                            .filter.end_ns = INT64_MAX};
    bool complete = true;
    for (int i = 0; i < TUI_VIEWS; i++) {
        app->table[i] = (struct tui_table){.spec = views[i]->table, .data = app};
        complete &= !views[i]->own_size || (app->own[i] = calloc(1, views[i]->own_size));
    }
    if (complete)
        tui_app_load(app);
    if (!app->has_summary || !app->verdict || (app->info.ranks && !app->rank_count)) {
        app->job = NULL;
        tui_app_free(app);
        return false;
    }
    app->cursor_at_end = !tui_app_ended(app);
    app->cursor_ns = app->cursor_at_end ? get_job_end(app) - 1 : get_job_end(app) / 2;
    return true;
}

void tui_app_free(struct tui_app *app)
{
    ana_gpu_summary_free(&app->gpu);
    if (app->has_summary)
        ana_summary_free(&app->summary);
    if (app->job)
        ana_job_close(app->job);
    ana_verdict_release(app->verdict);
    tui_tree_free(&app->tree);
    free(app->rank);
    free(app->tagged);
    for (int i = 0; i < TUI_VIEWS; i++) {
        tui_table_free(&app->table[i]);
        if (app->own[i] && app->views[i]->drop)
            app->views[i]->drop(app->own[i]);
        free(app->own[i]);
    }
    *app = (struct tui_app){0};
}

/* ---- views ------------------------------------------------------------------------------------------------------ */

void tui_app_update_table(struct tui_app *app)
{
    const struct tui_view *view = tui_app_view(app);
    struct tui_table *table = &app->table[app->view];
    if (!view->table)
        return;
    if (!table->started && view->sort) {
        table->sort = view->sort(app);
        table->started = true;
    }
    if (view->update)
        view->update(app);
    table->awaited = app->summary.counters_only;
    uint64_t shared = view->shared ? view->shared(app) : 0;
    if (shared) {
        table->cursor_identity = shared;
        table->has_cursor = true;
    }
    tui_table_update(table);
}

struct tui_place tui_app_place(const struct tui_app *app)
{
    return (struct tui_place){.view = app->view,
                              .all_time = app->all_time,
                              .follow = app->follow,
                              .begin_ns = app->begin_ns,
                              .end_ns = app->end_ns,
                              .cursor_ns = app->cursor_ns};
}

static void push_place(struct tui_app *app, struct tui_place place)
{
    int room = (int)(sizeof app->stack / sizeof *app->stack);
    if (app->depth == room) {
        memmove(app->stack, app->stack + 1, sizeof app->stack - sizeof *app->stack);
        app->depth--;
    }
    app->stack[app->depth++] = place;
}

static int show_view(struct tui_app *app, enum tui_view_id view)
{
    app->view = view;
    tui_app_update_table(app);
    return TUI_REDRAW;
}

int tui_app_open(struct tui_app *app, enum tui_view_id view)
{
    if (view == app->view)
        return TUI_REDRAW;
    push_place(app, tui_app_place(app));
    return show_view(app, view);
}

int tui_app_switch(struct tui_app *app, enum tui_view_id view)
{
    if (view == app->view)
        return TUI_REDRAW;
    while (app->depth && (app->stack[app->depth - 1].view == app->view || app->stack[app->depth - 1].view == view))
        app->depth--;
    return show_view(app, view);
}

void tui_app_note_jump(struct tui_app *app, struct tui_place from)
{
    struct tui_place now = tui_app_place(app);
    if (now.all_time == from.all_time && (now.all_time || (now.begin_ns == from.begin_ns && now.end_ns == from.end_ns)))
        return;
    from.window = true;
    if (now.view == from.view)
        push_place(app, from);
    else if (app->depth)
        app->stack[app->depth - 1] = from;
}

bool tui_app_return(struct tui_app *app)
{
    if (!app->depth)
        return false;
    struct tui_place to = app->stack[--app->depth];
    bool other = to.view != app->view;
    app->view = to.view;
    if (to.window) {
        tui_app_set_range(app, to.all_time ? 0 : to.begin_ns, to.all_time ? INT64_MAX : to.end_ns);
        app->cursor_ns = to.cursor_ns;
        app->follow = to.follow;
        tui_app_follow_end(app);
    }
    if (other && tui_app_view(app)->shown)
        tui_app_view(app)->shown(app);
    tui_app_update_table(app);
    return true;
}

void tui_app_goto_time(struct tui_app *app, int64_t at_ns)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    app->cursor_ns = at_ns;
    app->cursor_at_end = app->follow = false;
    if (at_ns < begin || at_ns >= end)
        tui_app_set_range(app, at_ns - (end - begin) / 2, at_ns - (end - begin) / 2 + (end - begin));
}

void tui_app_mark(struct tui_app *app, char letter, const char *note)
{
    struct tui_mark mark = {.at_ns = app->cursor_ns, .letter = letter};
    if (app->cursor_rank >= app->rank_count)
        return;
    tui_app_rank_name(app, app->cursor_rank, mark.rank, sizeof mark.rank);
    const struct tui_mark *old =
        letter == '-' ? tui_marks_near(&app->marks, mark.rank, mark.at_ns, 0) : tui_marks_find(&app->marks, letter);
    if (letter == '-' && old && *note)
        mark.letter = old->letter; /* the words are about the mark that is there */
    snprintf(mark.note, sizeof mark.note, "%s", *note ? note : old && letter != '-' ? old->note : "");
    if (!tui_marks_set(&app->marks, &mark, app->message, sizeof app->message))
        return;
    if (letter != '-')
        snprintf(app->message, sizeof app->message, SAY_MARKED_AND_LEAD, letter, letter);
    else
        snprintf(app->message, sizeof app->message, *note ? "noted" : SAY_THE_NOTE_IS);
}

bool tui_app_offers(const struct tui_app *app, enum tui_view_id view)
{
    if (view == TUI_VIEW_VERDICT)
        return app->verdict->state != ANA_VERDICT_HEALTHY;
    if (view == TUI_VIEW_NCCL)
        return app->gpu.nccl_count > 0;
    if (view == TUI_VIEW_ITERATIONS)
        return app->has_summary && app->summary.iterations.levels > 0;
    if (view == TUI_VIEW_FILES)
        return app->has_summary && app->summary.file_count > 0;
    if (view == TUI_VIEW_GPU)
        return app->gpu.known || app->gpu.why_not[0];
    return view != TUI_VIEW_HOROVOD || app->horovod->sets > 0;
}

void tui_app_choose_rank(struct tui_app *app, size_t index)
{
    app->cursor_rank = index;
    app->rank_chosen = true;
    app->rank_group = 0;
}

void tui_app_choose_call(struct tui_app *app, const char *call)
{
    snprintf(app->call, sizeof app->call, "%s", call);
    app->cursor_call = ana_hash_text(call);
}
