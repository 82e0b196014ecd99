/* Finds members that differ from most: equal ones are counted together; the largest class with all members that
 * agree with it is "most". */
#include "trace/util/hash_map.h"
#include "trace/verdict/differs.h"
#include <stdlib.h>

#define CLASSES_COMPARED 64u /* beyond this number of classes, only equal members count as agreeing */

/* Members with exactly equal terms. */
struct class
{
    size_t first, count;
};

static bool term_agrees(uint64_t a, uint64_t b)
{
    return a == b || a == ANA_AGREES_WITH_ALL || b == ANA_AGREES_WITH_ALL;
}

bool ana_agree(const struct ana_agreed *a, const struct ana_agreed *b)
{
    for (size_t t = 0; t < ANA_AGREED_MOST; t++)
        if (!term_agrees(a->term[t], b->term[t]))
            return false;
    return true;
}

/* Fills `class` and returns how many there are; 0: out of memory.  Each step from one term to the next has a number, so
 * that the last number stands for all terms. */
static size_t find_classes(const struct ana_agreed *all, size_t n, struct class *class)
{
    struct ana_map steps, classes;
    ana_map_init(&steps, sizeof(uint64_t));
    ana_map_init(&classes, sizeof(size_t));
    size_t found = 0;
    bool memory = false;
    for (size_t i = 0; i < n && !memory; i++) {
        uint64_t at = 0;
        for (size_t t = 0; t < ANA_AGREED_MOST && !memory; t++) {
            uint64_t *step = ana_map_add(&steps, at, all[i].term[t], t);
            memory |= !step;
            at = step ? (*step = *step ? *step : steps.count) : 0;
        }
        size_t *which = memory ? NULL : ana_map_add(&classes, at, 0, 0);
        memory |= !which;
        if (which && !*which) {
            *which = ++found;
            class[found - 1] = (struct class){i, 0};
        }
        if (which)
            class[*which - 1].count++;
    }
    ana_map_free(&steps);
    ana_map_free(&classes);
    return memory ? 0 : found;
}

/* The class with which most agree. */
static size_t find_most(const struct ana_agreed *all, const struct class *class, size_t classes)
{
    size_t best = 0, best_count = 0;
    for (size_t i = 0; i < classes; i++) {
        size_t count = class[i].count;
        for (size_t k = 0; k < classes && classes <= CLASSES_COMPARED; k++)
            if (k != i && ana_agree(&all[class[i].first], &all[class[k].first]))
                count += class[k].count;
        if (count > best_count) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

/* Fills the terms left open by `most` with the value that most members agreeing with it have. */
static void fill_open(const struct ana_agreed *all, const struct class *class, size_t classes, struct ana_agreed *most)
{
    for (size_t t = 0; t < ANA_AGREED_MOST; t++) {
        size_t best_count = 0;
        uint64_t best = ANA_AGREES_WITH_ALL;
        for (size_t i = 0; i < classes && most->term[t] == ANA_AGREES_WITH_ALL; i++) {
            const struct ana_agreed *one = &all[class[i].first];
            if (class[i].count > best_count && one->term[t] != ANA_AGREES_WITH_ALL && ana_agree(one, most)) {
                best = one->term[t];
                best_count = class[i].count;
            }
        }
        if (best_count)
            most->term[t] = best;
    }
}

bool ana_find_difference(const struct ana_agreed *all, size_t n, struct ana_difference *out)
{
    *out = (struct ana_difference){0};
    struct class *class = calloc(n + 1, sizeof *class);
    size_t classes = class ? find_classes(all, n, class) : 0;
    if (classes) {
        out->most = all[class[find_most(all, class, classes)].first];
        fill_open(all, class, classes, &out->most);
    }
    for (size_t i = 0; i < n && classes; i++)
        if (!ana_agree(&all[i], &out->most) && out->odds++ == 0)
            out->odd = i;
    for (size_t t = ANA_AGREED_MOST; t-- > 0 && out->odds;)
        if (!term_agrees(all[out->odd].term[t], out->most.term[t]))
            out->term = t;
    for (size_t i = n; i-- > 0 && out->odds;)
        if (all[i].term[out->term] == out->most.term[out->term] && ana_agree(&all[i], &out->most))
            out->usual = i;
    free(class);
    return classes || n == 0;
}
