/* The first difference of a rank from its own past: the step that, after the same steps, is another one than each time
 * before.  Of ranks that wait for each other, one that alone has done so is to blame. */
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"

enum {
    RECENT = 16,  /* last steps that are looked at */
    ALIKE = 256,  /* most steps that are compared */
    PAST = 8192,  /* steps of the past that are looked at */
    TIMES = 2,    /* least number of times */
    MEMBERS = 64, /* most ranks of a knot */
};

struct novelty {
    const struct ana_step *step, *before; /* the new step; the step that followed each time before */
    size_t alike, times;                  /* number of equal steps before it; number of earlier times */
};
enum habit { UNKNOWN, AS_EVER, NOVEL };

/* Number of equal steps before these two, `most` at most. */
static size_t alike_before(const struct ana_step *a, const struct ana_step *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[-1 - (ptrdiff_t)n].place == b[-1 - (ptrdiff_t)n].place)
        n++;
    return n;
}

/* Compares the step at `at` with the steps after the longest equal sequences before that occur TIMES times. */
static enum habit habit_at(const struct ana_steps *s, size_t at, struct novelty *out)
{
    size_t from = at > PAST ? at - PAST : 0, longest[TIMES] = {0};
    for (size_t i = from; i < at; i++) {
        size_t most = i - from < ALIKE ? i - from : ALIKE, n = alike_before(s->step + i, s->step + at, most);
        for (size_t k = 0; k < TIMES; k++)
            if (n > longest[k]) {
                size_t less = longest[k];
                longest[k] = n;
                n = less;
            }
    }
    *out = (struct novelty){.step = s->step + at, .alike = longest[TIMES - 1]};
    if (!out->alike)
        return UNKNOWN;
    for (size_t i = from + out->alike; i < at; i++) {
        if (alike_before(s->step + i, s->step + at, out->alike) < out->alike)
            continue;
        if (s->step[i].place == s->step[at].place)
            return AS_EVER;
        if (out->before && out->before->place != s->step[i].place)
            return UNKNOWN; /* it goes on in several ways */
        out->before = s->step + i;
        out->times++;
    }
    return NOVEL;
}

/* Compares the last steps of a rank with its own past. */
static enum habit habit_of(const struct ana_steps *s, struct novelty *out)
{
    enum habit last = s->count ? habit_at(s, s->count - 1, out) : UNKNOWN;
    for (size_t i = s->count < RECENT ? 0 : s->count - RECENT; i + 1 < s->count && last != NOVEL; i++)
        if (habit_at(s, i, out) == NOVEL)
            return NOVEL;
    return last;
}

static void tell_novelty(struct ana_case *c, size_t index, const struct novelty *n)
{
    char place[200] = "";
    const struct trc_file *file = ana_case_file(c, index);
    ana_site_words(c->job, index, n->before->site, place, sizeof place);
    ANA_FACT(c, ANA_SENTENCE_NOVEL, .who = ana_one_rank(index), .call = {.name = trc_call(file, n->step->call)->name},
             .site = {index, n->step->site}, .number = (int64_t)n->alike, .count = (int64_t)n->times,
             .other_call = {.name = trc_call(file, n->before->call)->name}, .name = ana_case_text(c, place));
    ANA_NEXT(c, ANA_SENTENCE_NEXT_NOVEL);
}

void ana_narrow_culprits(struct ana_case *c)
{
    struct ana_finding *f = c->out;
    struct novelty novelty, one;
    size_t novel = SIZE_MAX, asked = 0;
    if (f->state != ANA_VERDICT_HUNG || f->culprits < 2 || f->absents ||
        (f->id != ANA_CLASS_CYCLE && f->id != ANA_CLASS_UNMATCHED && f->id != ANA_CLASS_MISSING))
        return;
    const uint32_t knot = ana_rank_knot(c, f->culprit[0]);
    for (size_t i = 0; i < c->count; i++) {
        bool named = ana_is_culprit(f, i);
        if (!named && (!knot || ana_rank_knot(c, i) != knot))
            continue;
        const struct ana_waiting *p = ana_rank_waiting(c, i);
        enum habit habit = p && asked++ < MEMBERS ? habit_of(ana_case_steps(c, i, p->thread), &one) : UNKNOWN;
        if ((habit == NOVEL && novel != SIZE_MAX) || (habit == UNKNOWN && named))
            return;
        if (habit == NOVEL) {
            novel = i;
            novelty = one;
        }
    }
    if (novel == SIZE_MAX)
        return;
    f->culprits = 0;
    f->deadlock |= f->confidence == ANA_PROVEN;
    f->confidence = f->confidence == ANA_PROVEN ? ANA_LIKELY : f->confidence;
    ana_case_blame(c, novel);
    tell_novelty(c, novel, &novelty);
}
