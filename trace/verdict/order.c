/* Whether a rank has gone past the place in the program where another waits for it, or is on its way there. Both are
 * followed from the last collective that they took part in. A rank that has been at both places since then tells
 * which comes first; else a loop does: a rank that stands where nobody has been before has left it. */
#include "trace/verdict/order.h"

enum { WITNESSES = 32, CHANNELS = 16, LOOKED = 4096 };

/* The steps of a rank since the collective that all are followed from. */
struct tail {
    const struct ana_steps *all;
    const struct ana_step *step;
    size_t count;
};

/* The last common collective; `start`: there is none, all are followed from their first step. */
struct anchor {
    uint64_t identity, sequence;
    bool start;
};

/* The newest collectives of a rank, one of each communicator. */
struct newest {
    size_t count;
    uint64_t identity[CHANNELS], sequence[CHANNELS];
};

static struct newest newest_of(const struct ana_steps *s)
{
    struct newest out = {0};
    for (size_t i = s->count - 1, looked = 0; i-- > 0 && looked < LOOKED && out.count < CHANNELS; looked++) {
        size_t k = 0;
        while (k < out.count && out.identity[k] != s->step[i].identity)
            k++;
        if (!s->step[i].identity || k < out.count)
            continue;
        out.identity[k] = s->step[i].identity;
        out.sequence[out.count++] = s->step[i].sequence;
    }
    return out;
}

/* The last collective that both have behind them. */
static bool find_anchor(const struct ana_steps *a, const struct ana_steps *b, struct anchor *out)
{
    if (!a->count || !b->count)
        return false;
    struct newest newest = newest_of(a);
    for (size_t i = b->count - 1, looked = 0; i-- > 0 && looked < LOOKED; looked++)
        for (size_t k = 0; k < newest.count && b->step[i].identity; k++)
            if (newest.identity[k] == b->step[i].identity && b->step[i].sequence <= newest.sequence[k]) {
                *out = (struct anchor){b->step[i].identity, b->step[i].sequence, false};
                return true;
            }
    *out = (struct anchor){.start = true};
    return a->whole && b->whole;
}

static bool find_tail(const struct ana_steps *s, const struct anchor *anchor, struct tail *out)
{
    size_t from = s->count ? s->count - 1 : 0;
    while (from > 0 && (anchor->start || s->step[from - 1].identity != anchor->identity ||
                        s->step[from - 1].sequence != anchor->sequence))
        from--;
    *out = (struct tail){s, s->step + from, s->count - from};
    return s->count && (from > 0 || (anchor->start && s->whole));
}

static uint64_t last_place(const struct tail *t)
{
    return t->step[t->count - 1].place;
}

/* Number of times it has come to a place, with the call that it is in. */
static size_t visits(const struct ana_step *step, size_t count, uint64_t place)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += step[i].place == place;
    return n;
}

/* The n-th visit to a place; SIZE_MAX: it has been there less often. */
static size_t find_visit(const struct tail *t, uint64_t place, size_t n)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->step[i].place == place && --n == 0)
            return i;
    return SIZE_MAX;
}

bool ana_was_at(const struct ana_steps *s, uint64_t place)
{
    return s->count && visits(s->step, s->count - 1, place) > 0;
}

/* Whether it came to a place only after its last visit to another. */
static bool is_new(const struct ana_steps *s, uint64_t place, uint64_t other)
{
    size_t at = 0;
    while (at < s->count && s->step[at].place != place)
        at++;
    return visits(s->step + at, s->count - at, other) == 0;
}

/* The waiter and the rank it waits for: the place of each, and the count of its visits there. */
struct both {
    const struct ana_waiting *waiter;
    size_t suspect;
    struct anchor anchor;
    struct tail here, there;
    uint64_t place, other;
    size_t times, other_times;
};

/* Testimony of another rank: 1 the waiter's place comes first, -1 the suspect's, 0 nothing. */
static int witness(const struct both *b, const struct ana_steps *s)
{
    struct tail t;
    if (!find_tail(s, &b->anchor, &t))
        return 0;
    size_t here = find_visit(&t, b->place, b->times), there = find_visit(&t, b->other, b->other_times);
    bool stands = (here == SIZE_MAX && there == t.count - 1) || (there == SIZE_MAX && here == t.count - 1);
    if (here == there || stands) /* a rank that stands at one of the two places tells nothing */
        return 0;
    if (here == SIZE_MAX || there == SIZE_MAX) /* it may never go to the other one */
        return ana_was_at(s, b->place) && ana_was_at(s, b->other) ? (here < there ? 1 : -1) : 0;
    return here < there ? 1 : -1;
}

static int ask_witnesses(struct ana_case *c, const struct both *b, bool *fresh, bool *other_fresh)
{
    int sum = 0;
    *fresh = !ana_was_at(b->here.all, b->place) && !ana_was_at(b->there.all, b->place);
    *other_fresh = !ana_was_at(b->here.all, b->other) && is_new(b->there.all, b->other, b->place);
    for (size_t i = 0, asked = 0; i < c->count && asked < WITNESSES; i++) {
        const struct ana_steps *s = ana_case_steps(c, i, b->waiter->thread);
        if (i == b->waiter->index || i == b->suspect || !s->count)
            continue;
        asked++;
        sum += witness(b, s);
        *fresh &= !ana_was_at(s, b->place);
        *other_fresh &= !ana_was_at(s, b->other);
    }
    return sum;
}

enum ana_past ana_is_past(struct ana_case *c, const struct ana_waiting *waiter, bool collective, size_t suspect)
{
    const struct ana_steps *here = ana_case_steps(c, waiter->index, waiter->thread),
                           *there = ana_case_steps(c, suspect, waiter->thread);
    struct both b = {.waiter = waiter, .suspect = suspect};
    if (!find_anchor(here, there, &b.anchor) || !find_tail(here, &b.anchor, &b.here) ||
        !find_tail(there, &b.anchor, &b.there))
        return ANA_PAST_UNKNOWN;
    b.place = last_place(&b.here);
    b.other = last_place(&b.there);
    b.times = visits(b.here.step, b.here.count, b.place);
    b.other_times = visits(b.there.step, b.there.count, b.other);
    if (b.place == b.other)
        return ANA_PAST_UNKNOWN;
    if (visits(b.there.step, b.there.count, b.place) >= b.times) /* a collective there was another one */
        return collective ? ANA_LEFT_OUT : ANA_WAS_THERE;
    if (visits(b.here.step, b.here.count, b.other) >= b.other_times)
        return ANA_ON_ITS_WAY;
    bool fresh, other_fresh;
    int said = ask_witnesses(c, &b, &fresh, &other_fresh);
    if (said)
        return said > 0 ? ANA_LEFT_OUT : ANA_ON_ITS_WAY;
    if (other_fresh && !fresh && ana_was_at(there, b.place))
        return ANA_LEFT_OUT;
    return fresh && !other_fresh && ana_was_at(here, b.other) ? ANA_ON_ITS_WAY : ANA_PAST_UNKNOWN;
}
