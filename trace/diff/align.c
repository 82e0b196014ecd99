#include "trace/diff/diff_impl.h"
#include "trace/util/hash.h"
#include "trace/util/sort.h"

#include <string.h>

#define MOST 2048u /* places of a function that are laid on each other; more are matched by line alone */

/* A place on its way to another. */
struct place {
    const struct ana_portion_place *names;
    size_t number;
    uint64_t function, order; /* function, the same number for all its places; offset */
};

/* The length of a name without what the compiler and the offset add to it. */
static size_t bare_length(const char *name)
{
    static const char *const added[] = {".constprop", ".isra", ".part", ".cold", ".lto_priv"};
    const char *plus = strrchr(name, '+');
    size_t n = plus ? (size_t)(plus - name) : strlen(name);
    for (size_t i = 0; i < sizeof added / sizeof *added; i++) {
        const char *at = strstr(name, added[i]);
        if (at && (size_t)(at - name) < n)
            n = (size_t)(at - name);
    }
    return n;
}

/* "+0x1f" as a number; without an offset the line of "solve.py:31". */
static uint64_t order_of(const char *text)
{
    const char *plus = text ? strrchr(text, '+') : NULL, *colon = text ? strrchr(text, ':') : NULL;
    return plus ? strtoull(plus + 1, NULL, 16) : colon ? strtoull(colon + 1, NULL, 10) : 0;
}

ANA_COMPARE(by_order, struct place, ANA_ORDER(x->function, y->function), ANA_ORDER(x->order, y->order),
            ANA_ORDER(x->number, y->number))

static struct place *list_places(const struct ana_portion_place *names, size_t count, size_t *n)
{
    struct place *list = calloc(count + 1, sizeof *list);
    *n = 0;
    for (size_t i = 0; list && i < count; i++) {
        if (!names[i].call)
            continue;
        const char *function = names[i].function ? names[i].function : "", *module = names[i].module;
        size_t file = module ? strcspn(module, "+") : 0;
        uint64_t hash = ana_hash(function, bare_length(function));
        list[(*n)++] = (struct place){&names[i], i, hash * 31 + ana_hash(module, module ? file : 0),
                                      order_of(*function && strrchr(function, '+') ? function : module)};
    }
    if (list)
        ana_sort(list, *n, sizeof *list, by_order);
    return list;
}

static bool same_text(const char *x, const char *y)
{
    return x && y && *x && strcmp(x, y) == 0;
}

/* Returns the score of two places of one function; 0: no match. */
static uint32_t likeness(const struct ana_portion_place *a, const struct ana_portion_place *b)
{
    if (strcmp(a->call, b->call) != 0)
        return 0;
    bool same_line = strchr(a->at.place, ':') && same_text(a->at.place, b->at.place);
    return 8 + 2 * same_line + same_text(a->module, b->module);
}

/* Lays the places of one function on each other.  False: out of memory. */
static bool lay_on(const struct place *a, size_t as, const struct place *b, size_t bs, uint32_t *of_b)
{
    if (as > MOST || bs > MOST)
        return true;
    size_t row = bs + 1;
    uint32_t *best = calloc((as + 1) * row, sizeof *best); /* score of the first i and j places */
    if (!best)
        return false;
    for (size_t i = 1; i <= as; i++)
        for (size_t j = 1; j <= bs; j++) {
            uint32_t like = likeness(a[i - 1].names, b[j - 1].names);
            uint32_t without =
                best[(i - 1) * row + j] > best[i * row + j - 1] ? best[(i - 1) * row + j] : best[i * row + j - 1];
            uint32_t with = like ? best[(i - 1) * row + j - 1] + like : 0;
            best[i * row + j] = with > without ? with : without;
        }
    for (size_t i = as, j = bs; i && j;) {
        if (best[i * row + j] == best[(i - 1) * row + j])
            i--;
        else if (best[i * row + j] == best[i * row + j - 1])
            j--;
        else
            of_b[b[--j].number] = (uint32_t)a[--i].number + 1;
    }
    free(best);
    return true;
}

/* Matches the other places by call and source line. */
static void match_lines(const struct place *a, size_t as, const struct place *b, size_t bs, uint32_t *of_b, bool *taken)
{
    for (size_t j = 0; j < bs; j++)
        if (of_b[b[j].number])
            taken[of_b[b[j].number] - 1] = true;
    for (size_t j = 0; j < bs; j++)
        for (size_t i = 0; i < as && !of_b[b[j].number]; i++)
            if (!taken[a[i].number] && strcmp(a[i].names->call, b[j].names->call) == 0 &&
                same_text(a[i].names->at.place, b[j].names->at.place)) {
                of_b[b[j].number] = (uint32_t)a[i].number + 1;
                taken[a[i].number] = true;
            }
}

bool ana_align(const struct ana_portion_place *a, size_t a_count, const struct ana_portion_place *b, size_t b_count,
               uint32_t *of_b)
{
    size_t as, bs;
    struct place *in_a = list_places(a, a_count, &as), *in_b = list_places(b, b_count, &bs);
    bool *taken = calloc(a_count + 1, sizeof *taken), ok = in_a && in_b && taken;
    memset(of_b, 0, b_count * sizeof *of_b);
    for (size_t i = 0, j = 0; ok && i < as && j < bs;) {
        if (in_a[i].function != in_b[j].function) {
            *(in_a[i].function < in_b[j].function ? &i : &j) += 1;
            continue;
        }
        size_t from_a = i, from_b = j;
        while (i < as && in_a[i].function == in_a[from_a].function)
            i++;
        while (j < bs && in_b[j].function == in_b[from_b].function)
            j++;
        ok = lay_on(in_a + from_a, i - from_a, in_b + from_b, j - from_b, of_b);
    }
    if (ok)
        match_lines(in_a, as, in_b, bs, of_b, taken);
    free(in_a);
    free(in_b);
    free(taken);
    return ok;
}
