/* The first difference of a rank from its own past: where it has gone on, after the same steps, in another way than each
 * time before.  Of ranks that wait for each other, one that alone has done so is to blame. */
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"

enum {
    RECENT = 16,  /* last steps that are looked at */
    ALIKE = 256,  /* most steps that are compared */
    PAST = 8192,  /* steps of the past that are looked at */
    TIMES = 2,    /* least number of times */
    MEMBERS = 64, /* most ranks of a knot */
};

/* Number of equal steps before these two, `most` at most. */
static size_t alike_before(const struct ana_step *a, const struct ana_step *b, size_t most)
{
    size_t n = 0;
    while (n < most && a[-1 - (ptrdiff_t)n].place == b[-1 - (ptrdiff_t)n].place)
        n++;
    return n;
}

/* How the step at `at` fits what came before after as many equal steps as came TIMES times. */
static enum ana_habit habit_at(const struct ana_steps *s, size_t at, struct ana_novelty *out)
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
    *out = (struct ana_novelty){.step = s->step + at, .alike = longest[TIMES - 1]};
    if (!out->alike)
        return ANA_HABIT_UNKNOWN;
    for (size_t i = from + out->alike; i < at; i++) {
        if (alike_before(s->step + i, s->step + at, out->alike) < out->alike)
            continue;
        if (s->step[i].place == s->step[at].place)
            return ANA_AS_EVER;
        if (out->before && out->before->place != s->step[i].place)
            return ANA_HABIT_UNKNOWN; /* it goes on in several ways */
        out->before = s->step + i;
        out->times++;
    }
    return ANA_NOVEL;
}

enum ana_habit ana_habit_of(const struct ana_steps *s, struct ana_novelty *out)
{
    enum ana_habit last = s->count ? habit_at(s, s->count - 1, out) : ANA_HABIT_UNKNOWN;
    for (size_t i = s->count < RECENT ? 0 : s->count - RECENT; i + 1 < s->count && last != ANA_NOVEL; i++)
        if (habit_at(s, i, out) == ANA_NOVEL)
            return ANA_NOVEL;
    return last;
}

static void tell_novelty(struct ana_case *c, size_t index, const struct ana_novelty *n)
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
    struct ana_novelty novelty, one;
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
        enum ana_habit habit =
            p && asked++ < MEMBERS ? ana_habit_of(ana_case_steps(c, i, p->thread), &one) : ANA_HABIT_UNKNOWN;
        if ((habit == ANA_NOVEL && novel != SIZE_MAX) || (habit == ANA_HABIT_UNKNOWN && named))
            return;
        if (habit == ANA_NOVEL) {
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
