/* Findings: the same error at the same places is one, with all of its ranks. */
#include "trace/check/check_impl.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PLACES 16u /* places kept of one finding */

const struct ana_check_row ana_check_rows[] = {
#define CHECK_CLASS(id, name, weight, text) {name, ANA_CHECK_WEIGHT_##weight, text},
#include "trace/check/check_class.def"
};

/* One finding while others are still added to it. */
struct draft {
    struct ana_finding is;
    struct ana_place place[PLACES];
    uint8_t *ranks; /* one byte a rank index */
    char detail[160];
};

struct ana_found {
    struct ana_findings is;
    struct draft **draft;
    size_t count, ranks;
    char **text; /* owned: sites */
    size_t texts;
    const char **limit;
};

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* A copy of a text that lives as long as the findings; equal texts are one.  Findings are few. */
static const char *copy_text(struct ana_check *c, const char *text)
{
    struct ana_found *f = c->found;
    for (size_t i = 0; i < f->texts; i++)
        if (strcmp(f->text[i], text) == 0)
            return f->text[i];
    char *copy = ana_grow_alone(&f->text, f->texts, sizeof *f->text) ? strdup(text) : NULL;
    c->memory |= !copy;
    return copy ? (f->text[f->texts++] = copy) : "";
}

static const char *site_of(struct ana_check *c, uint32_t rank, uint64_t site)
{
    const struct trc_file *file = ana_job_rank(c->job, rank)->file;
    const char *function = NULL, *module = NULL;
    trc_site(file, site, &function, &module);
    const char *line = ana_site_line(c->job, rank, module);
    function = ana_site_function(c->job, rank, module, function);
    return copy_text(c, line ? line : function ? function : module ? trc_base_name(module) : "");
}

ANA_COMPARE(by_call_and_site, struct ana_place, strcmp(x->call, y->call), strcmp(x->site, y->site))

/* Adds a place to a list that has each once.  Returns the new length. */
static size_t add_place(struct ana_place *list, size_t n, struct ana_place one)
{
    for (size_t i = 0; i < n; i++)
        if (by_call_and_site(&list[i], &one) == 0)
            return n;
    if (n < PLACES)
        list[n++] = one;
    return n;
}

/* ---- drafts ----------------------------------------------------------------------------------------------------- */

static bool same_places(const struct draft *d, enum ana_check_class id, const struct ana_place *place, size_t n)
{
    if (d->is.id != id || d->is.places != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (by_call_and_site(&d->place[i], &place[i]) != 0)
            return false;
    return true;
}

/* The draft of this class and places, made if there is none. */
static struct draft *find_draft(struct ana_check *c, enum ana_check_class id, const struct ana_place *place, size_t n)
{
    struct ana_found *f = c->found;
    for (size_t i = 0; i < f->count; i++)
        if (same_places(f->draft[i], id, place, n))
            return f->draft[i];
    struct draft *d = ana_grow_alone(&f->draft, f->count, sizeof *f->draft) ? calloc(1, sizeof *d) : NULL;
    if (!d || !(d->ranks = calloc(f->ranks + 1, 1))) {
        free(d);
        return NULL;
    }
    d->is.id = id;
    d->is.places = n;
    memcpy(d->place, place, n * sizeof *place);
    return f->draft[f->count++] = d;
}

void ana_found_add(struct ana_check *c, enum ana_check_class id, const struct ana_act *const *act, size_t n,
                   const char *detail, ...)
{
    struct ana_place place[PLACES];
    size_t places = 0;
    for (size_t i = 0; i < n; i++)
        places =
            add_place(place, places,
                      (struct ana_place){copy_text(c, act[i]->call->name), site_of(c, act[i]->rank, act[i]->sig.site)});
    ana_sort(place, places, sizeof *place, by_call_and_site);
    struct draft *d = find_draft(c, id, place, places);
    if (!d) {
        c->memory = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        d->ranks[act[i]->rank] = 1;
    if (d->is.times++ > 0)
        return;
    va_list words;
    va_start(words, detail);
    vsnprintf(d->detail, sizeof d->detail, detail, words);
    va_end(words);
}

void ana_found_limit(struct ana_check *c, const char *text)
{
    struct ana_found *f = c->found;
    for (size_t i = 0; i < f->is.limits; i++)
        if (strcmp(f->limit[i], text) == 0)
            return;
    if (ana_grow_alone(&f->limit, f->is.limits, sizeof *f->limit))
        f->limit[f->is.limits++] = copy_text(c, text);
    else
        c->memory = true;
}

/* ---- begin and end ---------------------------------------------------------------------------------------------- */

bool ana_found_begin(struct ana_check *c)
{
    c->found = calloc(1, sizeof *c->found);
    if (c->found)
        c->found->ranks = ana_job_ranks(c->job);
    return c->found;
}

static int by_weight_and_class(const void *a, const void *b)
{
    const struct ana_finding *x = &(*(struct draft *const *)a)->is, *y = &(*(struct draft *const *)b)->is;
    int wx = (int)ana_check_rows[x->id].weight, wy = (int)ana_check_rows[y->id].weight;
    if (wx != wy || x->id != y->id)
        return wx != wy ? wx - wy : (int)x->id - (int)y->id;
    size_t n = x->places < y->places ? x->places : y->places;
    for (size_t i = 0; i < n; i++) {
        int order = by_call_and_site(&x->place[i], &y->place[i]);
        if (order)
            return order;
    }
    return x->places < y->places ? -1 : x->places > y->places;
}

static bool finish(struct ana_found *f, struct draft *d)
{
    size_t *rank = malloc((f->ranks + 1) * sizeof *rank);
    for (size_t i = 0; rank && i < f->ranks; i++)
        if (d->ranks[i])
            rank[d->is.ranks++] = i;
    if (d->is.id == ANA_CHECK_KEPT && d->is.times > d->is.ranks) /* several of one process: it grows */
        d->is.id = ANA_CHECK_LEFT;
    d->is.rank = rank;
    d->is.place = d->place;
    d->is.detail = d->detail;
    return rank;
}

const struct ana_findings *ana_found_end(struct ana_check *c)
{
    struct ana_found *f = c->found;
    f->is.calls = c->calls;
    f->is.limit = f->limit;
    f->is.finding = calloc(f->count + 1, sizeof *f->is.finding);
    bool fine = f->is.finding && !c->memory;
    for (size_t i = 0; i < f->count; i++)
        fine = finish(f, f->draft[i]) && fine;
    if (f->count)
        ana_sort(f->draft, f->count, sizeof *f->draft, by_weight_and_class);
    for (size_t i = 0; fine && i < f->count; i++) {
        f->is.finding[f->is.count++] = f->draft[i]->is;
        f->is.errors += ana_check_rows[f->draft[i]->is.id].weight == ANA_CHECK_WEIGHT_ERROR;
    }
    if (fine)
        return &f->is;
    ana_findings_free(&f->is);
    return NULL;
}

void ana_findings_free(const struct ana_findings *findings)
{
    struct ana_found *f = (struct ana_found *)(uintptr_t)findings; /* `findings` is its first member */
    if (!f)
        return;
    for (size_t i = 0; i < f->count; i++) {
        free((void *)(uintptr_t)f->draft[i]->is.rank);
        free(f->draft[i]->ranks);
        free(f->draft[i]);
    }
    for (size_t i = 0; i < f->texts; i++)
        free(f->text[i]);
    free(f->is.finding);
    free(f->draft);
    free(f->text);
    free(f->limit);
    free(f);
}
