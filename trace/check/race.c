/* Receives from any source that another message could have reached first, by vector clocks: a message may have come
 * before a receive completed unless its sender knew of that when it sent. */
#include "trace/check/check_impl.h"
#include <stdlib.h>
#include <string.h>

#define CLOCKS_MOST 1024u /* threads of the job: each message under way keeps a word for each */
#define KEPT        64u   /* last receives from any source of one rank */

/* ---- clocks ----------------------------------------------------------------------------------------------------- */

struct ana_stamp {
    size_t words; /* one an actor */
    uint32_t at[];
};

bool ana_clocks_begin(struct ana_check *c)
{
    ana_pool_init(&c->stamps, sizeof(struct ana_stamp) + c->actors * sizeof(uint32_t));
    c->wild &= c->actors <= CLOCKS_MOST;
    for (size_t i = 0; i < c->actors && c->wild; i++)
        if (!(c->actor[i].clock = calloc(c->actors, sizeof *c->actor[i].clock)))
            return false;
    return true;
}

struct ana_stamp *ana_stamp_copy(struct ana_check *c, const struct ana_actor *actor)
{
    struct ana_stamp *stamp = actor->clock ? ana_pool_alloc(&c->stamps) : NULL;
    c->memory |= actor->clock && !stamp;
    if (!stamp)
        return NULL;
    stamp->words = c->actors;
    memcpy(stamp->at, actor->clock, c->actors * sizeof *actor->clock);
    return stamp;
}

void ana_stamp_drop(struct ana_check *c, struct ana_stamp *stamp)
{
    if (stamp)
        ana_pool_free_item(&c->stamps, stamp);
}

static void add_later(uint32_t *into, const uint32_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] = from[i] > into[i] ? from[i] : into[i];
}

void ana_stamp_meet(struct ana_stamp *into, const struct ana_actor *actor)
{
    if (into && actor->clock)
        add_later(into->at, actor->clock, into->words);
}

void ana_clock_join(struct ana_actor *actor, const struct ana_stamp *stamp)
{
    if (stamp && actor->clock)
        add_later(actor->clock, stamp->at, stamp->words);
}

/* ---- races ------------------------------------------------------------------------------------------------------ */

/* A receive from any source that has completed. */
struct wild {
    const struct ana_act *act, *got;
    size_t actor;       /* owner of the receive */
    uint32_t completed; /* the actor's own clock */
    uint64_t serial;
    uint64_t others[16]; /* ranks (modulo 1024, a bit each) whose next message has been looked at */
};

struct ana_wild {
    struct wild kept[KEPT];
    size_t count; /* ever */
};

void ana_race_open(struct ana_check *c, const struct ana_actor *actor, const struct ana_end *receive)
{
    struct ana_player *p = &c->player[actor->rank];
    if (!ana_act_is_wild(receive->act))
        return;
    if (!p->wild && !(p->wild = calloc(1, sizeof *p->wild))) {
        c->memory = true;
        return;
    }
    size_t own = (size_t)(actor - c->actor);
    p->wild->kept[p->wild->count++ % KEPT] = (struct wild){.act = receive->act,
                                                           .got = receive->got,
                                                           .actor = own,
                                                           .completed = actor->clock[own] + 1,
                                                           .serial = receive->serial};
}

/* Whether `wild` could have taken this message, too, which a later receive took. */
static bool could_receive(const struct wild *wild, const struct ana_end *send, const struct ana_end *receive)
{
    return wild->serial < receive->serial && wild->got->from != send->act->rank &&
           wild->act->identity == send->act->identity &&
           (ana_act_asks_tag(wild->act) == TRC_TAG_ANY || ana_act_asks_tag(wild->act) == send->act->sig.tag);
}

void ana_check_race(struct ana_check *c, const struct ana_end *send, const struct ana_end *receive)
{
    struct ana_wild *list = c->player[receive->act->rank].wild;
    uint32_t from = send->act->rank;
    size_t n = !list ? 0 : list->count < KEPT ? list->count : KEPT;
    for (size_t i = 0; i < n; i++) {
        struct wild *wild = &list->kept[i];
        uint64_t bit = 1ull << from % 64;
        if (!could_receive(wild, send, receive) || wild->others[from / 64 % 16] & bit)
            continue;
        wild->others[from / 64 % 16] |= bit; /* messages of one rank come in order: only its next one counts */
        if (!receive->stamp || receive->stamp->at[wild->actor] >= wild->completed)
            continue;
        const struct ana_act *parts[] = {wild->act, receive->act, wild->got, send->act};
        bool starves = !ana_act_is_wild(receive->act);
        ana_found_add(c, starves ? ANA_CHECK_STARVES : ANA_CHECK_RACE, parts, starves ? 2 : 1,
                      "took a message of rank %d; one of rank %d could have come first", wild->got->sig.source,
                      ana_job_rank(c->job, from)->rank);
    }
}
