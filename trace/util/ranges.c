#include "trace/util/ranges.h"
#include "trace/util/numfmt.h"
#include <stdio.h>
#include <string.h>

struct ana_label ana_label_of(struct ana_rank_id id)
{
    struct ana_label label;
    if (id.rank < 0)
        snprintf(label.text, sizeof label.text, "pid %u", id.pid);
    else if (id.world)
        snprintf(label.text, sizeof label.text, "w%u:%d", id.world, id.rank);
    else
        snprintf(label.text, sizeof label.text, "%d", id.rank);
    return label;
}

void ana_ranges_begin(struct ana_ranges *r, char *out, size_t size, size_t most, bool noun)
{
    *r = (struct ana_ranges){.out = out, .size = size, .noun = noun, .most = most};
    ana_append(out, size, &r->used, "%s", "");
}

/* Writes `n` ranks from `first` to `last` as one range. */
static void write_range(struct ana_ranges *r, struct ana_rank_id first, struct ana_rank_id last, size_t n, bool end)
{
    bool only = r->written == 0 && end;
    if (r->written == r->most) {
        r->left_out += n;
        return;
    }
    const char *glue = r->written == 0 ? "" : r->noun && end && !r->left_out ? " and " : ", ";
    const char *noun = r->written || !r->noun ? "" : only && n == 1 ? "rank " : "ranks ";
    ana_append(r->out, r->size, &r->used, "%s%s%s", noun, glue, ana_label_of(first).text);
    if (n > 1)
        ana_append(r->out, r->size, &r->used, "-%s", ana_label_of(last).text);
    r->written++;
}

/* Two in a row are no range. */
static void write_growing(struct ana_ranges *r, bool end)
{
    if (r->growing == 2) {
        write_range(r, r->first, r->first, 1, false);
        write_range(r, r->last, r->last, 1, end);
    } else if (r->growing) {
        write_range(r, r->first, r->last, r->growing, end);
    }
}

void ana_ranges_add(struct ana_ranges *r, struct ana_rank_id id)
{
    bool follows = r->growing && r->last.rank >= 0 && id.world == r->last.world && id.rank == r->last.rank + 1;
    if (!follows) {
        write_growing(r, false);
        r->growing = 0;
        r->first = id;
    }
    r->last = id;
    r->growing++;
}

void ana_ranges_end(struct ana_ranges *r)
{
    write_growing(r, true);
    if (r->left_out)
        ana_append(r->out, r->size, &r->used, " and %zu more", r->left_out);
    if (r->used >= r->size && r->size > 4)
        memcpy(r->out + r->size - 4, "...", 4);
}
