/* Finds who owes a message that a rank waits for from any source: among ranks that it exchanges messages with in
 * turns, the one that has taken its turn once more than it has sent. */
#include "trace/job/comms.h"
#include "trace/reader/reader.h"
#include "trace/util/sort.h"
#include "trace/verdict/last_events.h"
#include "trace/verdict/order.h"

enum { DEBTORS = 4, PLACES = 8, COMPARED = 64, CENTERS = 4 };

/* Messages that one peer has exchanged with the waiting rank. */
struct turns {
    size_t index;
    const struct ana_steps *steps;
    int64_t sent;  /* messages such as the one that is waited for */
    int64_t taken; /* receives begun from there that follow such a message elsewhere, or before */
    int64_t owes;  /* taken - sent */
};

/* The waiting rank, its receive, and its peers. */
struct center {
    const struct ana_waiting *waiting;
    const struct ana_dependency *message;
    struct turns *turns;
    size_t others, peers;   /* number of members; number of members that take part */
    uint64_t place[PLACES]; /* places where answers are received */
    size_t places;
};

static bool sends(const struct center *m, const struct ana_step *s)
{
    return s->to == (uint32_t)m->waiting->index && s->channel == m->message->identity &&
           (m->message->tag == TRC_TAG_ANY || m->message->tag == s->tag);
}

static bool receives(const struct center *m, const struct ana_step *s)
{
    return s->from == (uint32_t)m->waiting->index && s->channel == m->message->identity;
}

static bool is_answer_place(const struct center *m, uint64_t place)
{
    for (size_t i = 0; i < m->places; i++)
        if (m->place[i] == place)
            return true;
    return false;
}

/* Counts what a peer has sent, and notes where it receives next after that. */
static void count_sent(struct center *m, struct turns *t)
{
    bool sent = false;
    for (size_t i = 0; i < t->steps->count; i++) {
        const struct ana_step *s = &t->steps->step[i];
        if (sent && receives(m, s) && !is_answer_place(m, s->place) && m->places < PLACES)
            m->place[m->places++] = s->place;
        if (sends(m, s) || receives(m, s))
            sent = sends(m, s);
        t->sent += sends(m, s) && (i + 1 < t->steps->count || !t->steps->open);
    }
}

static void count_received(const struct center *m, struct turns *t)
{
    for (size_t i = 0; i < t->steps->count; i++)
        t->taken += receives(m, &t->steps->step[i]) && is_answer_place(m, t->steps->step[i].place);
    t->owes = t->taken - t->sent;
}

static int by_owes(const void *a, const void *b)
{
    const struct turns *x = a, *y = b;
    return x->owes != y->owes ? (x->owes > y->owes) - (x->owes < y->owes)
                              : (x->index > y->index) - (x->index < y->index);
}

/* The debt of most peers: that is the program's habit. Of two, the one that owes less is right. */
static int64_t usual_debt(struct center *m)
{
    ana_sort(m->turns, m->peers, sizeof *m->turns, by_owes);
    return m->turns[(m->peers - 1) / 2].owes;
}

static bool waits_for_it(struct ana_case *c, const struct center *m, size_t index)
{
    const struct ana_waiting *p = ana_rank_waiting(c, index);
    for (const struct ana_dependency *d = ana_need(c, p, 0); p && d < ana_need(c, p, p->dependencies); d++) {
        if (d->peer != TRC_PEER_ANY && ana_dependency_partner(c, d) == m->waiting->index)
            return true;
    }
    return false;
}

/* All of the communicator that stand somewhere.  What each may owe is known from the counters, not exactly: they do not
 * know tags. */
static void find_members(struct ana_case *c, struct center *m)
{
    const struct trc_comm *comm = m->message->comm;
    size_t center = m->waiting->index;
    struct ana_range range = ana_members(c->job, center, comm, comm->def.remote_size > 0);
    for (size_t i = range.from; i < range.to && m->peers < c->count; i++) {
        size_t index = ana_member(c->job, center, comm, i);
        m->others += index != center;
        if (index == SIZE_MAX || index == center || !ana_rank_waiting(c, index))
            continue;
        int64_t guess = ana_messages(c, center, index, false) - ana_messages(c, index, center, false);
        m->turns[m->peers++] = (struct turns){.index = index, .owes = guess + waits_for_it(c, m, index)};
    }
}

/* Picks, of many peers, the ones that may owe most, and some others to compare with. */
static void choose_some(struct center *m)
{
    ana_sort(m->turns, m->peers, sizeof *m->turns, by_owes);
    for (size_t i = 0; m->peers > COMPARED && i < COMPARED; i++)
        m->turns[i] = i < COMPARED / 2 ? m->turns[i * (m->peers - COMPARED / 2) / (COMPARED / 2)]
                                       : m->turns[m->peers - COMPARED + i];
    m->peers = m->peers < COMPARED ? m->peers : COMPARED;
}

static void find_peers(struct ana_case *c, struct center *m)
{
    find_members(c, m);
    choose_some(m);
    for (size_t i = 0; i < m->peers; i++) {
        struct turns *t = &m->turns[i];
        *t = (struct turns){.index = t->index, .steps = ana_thread_steps(c, t->index, m->waiting->thread)};
        count_sent(m, t);
    }
    size_t part = 0; /* number of peers that take part */
    for (size_t i = 0; i < m->peers; i++) {
        count_received(m, &m->turns[i]);
        if (m->turns[i].sent || m->turns[i].taken || m->others == 1)
            m->turns[part++] = m->turns[i];
    }
    m->peers = part;
}

/* Between two ranks alone: since their last collective the one who waits has sent something, which the other has taken,
 * and that now receives once more. */
static bool owes_alone(struct ana_case *c, const struct center *m, const struct turns *t)
{
    const struct ana_steps *own = ana_case_steps(c, m->waiting->index, m->waiting->thread);
    bool gave = false, took = false;
    for (size_t i = own->count; i-- > 1 && !own->step[i - 1].identity && !gave;)
        gave = own->step[i - 1].to == (uint32_t)t->index && own->step[i - 1].channel == m->message->identity;
    if (!t->steps->count || !receives(m, &t->steps->step[t->steps->count - 1]))
        return false;
    for (size_t i = t->steps->count;
         i-- > 1 && !t->steps->step[i - 1].identity && !took && !sends(m, &t->steps->step[i - 1]);)
        took = receives(m, &t->steps->step[i - 1]);
    return gave && took;
}

static bool explain_owed(struct ana_case *c, struct center *m)
{
    int64_t usual = m->peers ? usual_debt(m) : 0;
    size_t debtors = m->peers == 1 && m->others == 1 && owes_alone(c, m, &m->turns[0]);
    while (debtors < m->peers && m->turns[m->peers - 1 - debtors].owes > usual)
        debtors++;
    if (!debtors || debtors > DEBTORS || (debtors > 1 && debtors * 2 > m->peers) ||
        !ana_case_settle_likely(c, ANA_CLASS_UNMATCHED, &m->waiting->index, 1, m->waiting->lasted_ns))
        return false;
    const struct turns *last = &m->turns[m->peers - 1];
    for (size_t i = 0; i < debtors; i++)
        ana_case_blame(c, m->turns[m->peers - 1 - i].index);
    ANA_SUMMARY(c, ANA_SENTENCE_OWES, .who = ANA_CULPRITS, .others = ana_one_rank(m->waiting->index),
                .message = m->message);
    ANA_FACT(c, ANA_SENTENCE_TURNS, .who = ana_one_rank(last->index), .others = ana_one_rank(m->waiting->index),
             .count = last->taken, .of = last->sent, .number = usual);
    return true;
}

bool ana_find_owed(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *d)
{
    bool any = d->kind == ANA_DEPENDENCY_MESSAGE && d->peer == TRC_PEER_ANY && d->comm && d->met <= 0;
    if (p->aside || !any || c->centers++ >= CENTERS)
        return false;
    struct center m = {.waiting = p, .message = d, .turns = ana_case_alloc(c, (c->count + 1) * sizeof *m.turns)};
    if (m.turns)
        find_peers(c, &m);
    return m.turns && explain_owed(c, &m);
}
