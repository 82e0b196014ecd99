#include "trace/util/spans.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"
#include <string.h>

/* The index of the first span that ends at `ns` or later. */
static size_t first_from(const struct ana_spans *s, int64_t ns)
{
    if (s->count > 0 && s->span[s->count - 1].end_ns < ns)
        return s->count; /* nearly always: spans come in order of time */
    return ANA_FIRST(i, s->count, s->span[i].end_ns < ns);
}

static bool add_span(struct ana_spans *s, struct ana_span span)
{
    size_t from = first_from(s, span.begin_ns), to = from;
    while (to < s->count && s->span[to].begin_ns <= span.end_ns)
        to++;
    if (from < to) { /* it touches these: they become one span */
        if (s->span[from].begin_ns < span.begin_ns)
            span.begin_ns = s->span[from].begin_ns;
        if (s->span[to - 1].end_ns > span.end_ns)
            span.end_ns = s->span[to - 1].end_ns;
        s->span[from] = span;
        memmove(&s->span[from + 1], &s->span[to], (s->count - to) * sizeof span);
        s->count -= to - from - 1;
        return true;
    }
    if (!ana_grow(&s->span, s->count, &s->room, sizeof span))
        return false;
    memmove(&s->span[from + 1], &s->span[from], (s->count - from) * sizeof span);
    s->span[from] = span;
    s->count++;
    return true;
}

/* Adds to ns[] how long each combination lasted before `until`, by a sweep over the ends of all kinds. */
static void sweep_ends(const struct ana_mix *mix, int64_t until, int64_t ns[ANA_GPU_MIXES])
{
    size_t at[ANA_GPU_KINDS] = {0};
    int64_t now = INT64_MIN;
    for (;;) {
        unsigned running = 0;
        int64_t next = INT64_MAX;
        for (unsigned k = 0; k < ANA_GPU_KINDS; k++) {
            const struct ana_spans *s = &mix->of[k];
            while (at[k] < s->count && s->span[at[k]].end_ns <= now)
                at[k]++;
            if (at[k] == s->count)
                continue;
            const struct ana_span *span = &s->span[at[k]];
            bool inside = span->begin_ns <= now;
            running |= inside ? 1u << k : 0;
            int64_t edge = inside ? span->end_ns : span->begin_ns;
            next = edge < next ? edge : next;
        }
        if (next > until)
            next = until;
        if (now != INT64_MIN && running && next > now)
            ns[running] += next - now;
        if (next >= until)
            return;
        now = next;
    }
}

/* Sums up the older half of one kind, and the spans of the others that lie in that time. */
static void settle_half(struct ana_mix *mix, enum ana_gpu_kind kind)
{
    int64_t until = mix->of[kind].span[mix->of[kind].count / 2].begin_ns;
    sweep_ends(mix, until, mix->sum);
    for (unsigned k = 0; k < ANA_GPU_KINDS; k++) {
        struct ana_spans *s = &mix->of[k];
        size_t gone = first_from(s, until + 1);
        s->count -= gone;
        memmove(s->span, s->span + gone, s->count * sizeof *s->span);
        if (s->count && s->span[0].begin_ns < until)
            s->span[0].begin_ns = until;
    }
    mix->settled = true;
    mix->settled_ns = until;
}

bool ana_mix_add(struct ana_mix *mix, enum ana_gpu_kind kind, int64_t begin_ns, int64_t end_ns)
{
    if (mix->settled && begin_ns < mix->settled_ns)
        begin_ns = mix->settled_ns;
    if (begin_ns >= end_ns)
        return true;
    if (mix->of[kind].count >= mix->max)
        settle_half(mix, kind);
    return add_span(&mix->of[kind], (struct ana_span){begin_ns, end_ns});
}

void ana_mix_sum(const struct ana_mix *mix, int64_t ns[ANA_GPU_MIXES])
{
    memcpy(ns, mix->sum, sizeof mix->sum);
    sweep_ends(mix, INT64_MAX, ns);
}

void ana_mix_free(struct ana_mix *mix)
{
    for (unsigned k = 0; k < ANA_GPU_KINDS; k++)
        free(mix->of[k].span);
    *mix = (struct ana_mix){.max = mix->max};
}

/* Whether spans are apart from each other and in order. */
static bool are_in_order(const struct ana_spans *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct ana_span *span = &s->span[i];
        if (!ana_archive_is_time(span->begin_ns) || !ana_archive_is_time(span->end_ns) ||
            span->begin_ns >= span->end_ns || (i > 0 && span[-1].end_ns >= span->begin_ns))
            return false;
    }
    return true;
}

void ana_mix_archive(struct ana_archive *archive, struct ana_mix *mix)
{
    for (unsigned k = 0; k < ANA_GPU_KINDS && !archive->failed; k++) {
        struct ana_spans *s = &mix->of[k];
        void *span = s->span;
        ana_archive_array(archive, &span, &s->count, sizeof *s->span, mix->max);
        if (archive->loads) {
            s->span = span;
            s->room = s->count;
            ana_archive_require(archive, are_in_order(s));
        }
    }
    uint8_t settled = mix->settled;
    ANA_ARCHIVE(archive, settled);
    ANA_ARCHIVE(archive, mix->settled_ns);
    ANA_ARCHIVE(archive, mix->sum);
    mix->settled = settled != 0;
    ana_archive_require(archive, ana_archive_is_time(mix->settled_ns));
}
