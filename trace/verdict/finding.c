/* The finding under construction: the culprits, its certainty, and the facts. */
#include "trace/util/rows.h"
#include "trace/verdict/differs.h"
#include "trace/verdict/judgement_impl.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

struct ana_stored {
    struct ana_stored *before;
};

void ana_case_set(struct ana_case *c, enum ana_verdict_state state, enum ana_verdict_class id, enum ana_confidence sure)
{
    c->out->state = state;
    c->out->id = id;
    c->out->confidence = sure;
}

bool ana_case_settle(struct ana_case *c, enum ana_verdict_class id, enum ana_confidence confidence, int64_t lasted_ns)
{
    /* One sample of a running job proves nothing. */
    if (c->live && c->samples->taken < 2 && confidence == ANA_PROVEN)
        confidence = ANA_LIKELY;
    if (lasted_ns < (confidence == ANA_PROVEN ? c->rules.proof_ns : c->rules.hang_ns))
        return false;
    ana_case_set(c, ANA_VERDICT_HUNG, id, confidence);
    c->out->since_ns = lasted_ns;
    return true;
}

bool ana_case_settle_likely(struct ana_case *c, enum ana_verdict_class id, const size_t *index, size_t n,
                            int64_t lasted_ns)
{
    if (!ana_case_settle(c, id, ana_case_certainty(c, index, n), lasted_ns))
        return false;
    c->out->deadlock = c->out->confidence == ANA_PROVEN;
    c->out->confidence = ANA_LIKELY;
    return true;
}

void ana_case_fact(struct ana_case *c, struct ana_fact fact)
{
    if (c->out->facts < ANA_FACTS_MOST)
        c->out->fact[c->out->facts++] = fact;
}

void ana_case_blame(struct ana_case *c, size_t index)
{
    struct ana_finding *f = c->out;
    size_t at = 0;
    while (at < f->culprits && f->culprit[at] < index)
        at++;
    if (index == SIZE_MAX || (at < f->culprits && f->culprit[at] == index))
        return;
    size_t *grown = realloc(f->culprit, (f->culprits + 1) * sizeof *grown);
    if (!grown) {
        c->memory = true;
        return;
    }
    f->culprit = grown;
    memmove(grown + at + 1, grown + at, (f->culprits++ - at) * sizeof *grown);
    grown[at] = index;
}

/* A root, a tag or an amount. */
static int64_t value_of(const struct ana_agreed *one, size_t term)
{
    return term == ANA_TERM_AMOUNT ? (int64_t)one->term[term] : (int32_t)one->term[term];
}

void ana_case_explain_difference(struct ana_case *c, const struct ana_agreed *all, size_t n,
                                 const struct ana_difference *d, struct ana_given_call odd, struct ana_given_call usual,
                                 const struct trc_comm *comm, int64_t number)
{
    static const enum ana_sentence says[] = {
        [ANA_TERM_CALL] = ANA_SENTENCE_OTHER_CALL,           [ANA_TERM_ROOT] = ANA_SENTENCE_OTHER_ROOT,
        [ANA_TERM_AMOUNT] = ANA_SENTENCE_OTHER_DATA,         [ANA_TERM_TYPE] = ANA_SENTENCE_OTHER_DATA,
        [ANA_TERM_OPERATION] = ANA_SENTENCE_OTHER_OPERATION, [ANA_TERM_TAG] = ANA_SENTENCE_OTHER_TAG};
    TRC_ASSERT_ROWS(says, ANA_TERM_TAG);
    const struct ana_agreed *one = &all[d->odd], *other = &all[d->usual];
    const size_t others = n - d->odds, term = d->term == ANA_TERM_TYPE ? ANA_TERM_AMOUNT : d->term;
    const bool tie = d->odds * 2 == n, operation = d->term == ANA_TERM_OPERATION;
    for (size_t i = 0; i < n; i++)
        if (tie || !ana_agree(&all[i], &d->most))
            ana_case_blame(c, all[i].who);
    ANA_SUMMARY(c, says[d->term], .who = tie ? ana_one_rank(one->who) : ANA_CULPRITS,
                .others = ana_one_rank(other->who), .more = tie || others == 1 ? 0 : (int64_t)others,
                .call = {.name = odd.call}, .other_call = {.name = usual.call},
                .name = operation ? odd.operation : odd.type, .other_name = operation ? usual.operation : usual.type,
                .count = value_of(one, term), .of = value_of(other, term), .comm = comm, .number = number);
    if (number)
        ANA_FACT(c, ANA_SENTENCE_SAME_PLACE, .number = number, .comm = comm);
    ANA_FACT(c, ANA_SENTENCE_CALLED_AT, .who = ana_one_rank(one->who), .call = {.name = odd.call},
             .site = {one->who, odd.site});
    ANA_FACT(c, ANA_SENTENCE_CALLED_AT, .who = ana_one_rank(other->who), .call = {.name = usual.call},
             .site = {other->who, usual.site});
}

void ana_case_blame_all(struct ana_case *c, struct ana_ranks ranks)
{
    for (size_t i = 0; i < ranks.n; i++)
        ana_case_blame(c, ana_rank_at(ranks, i));
}

/* ---- memory that lives as long as the case ----------------------------------------------------------------------- */

void *ana_case_alloc(struct ana_case *c, size_t size)
{
    struct ana_stored *kept = calloc(1, sizeof *kept + size);
    if (!kept) {
        c->memory = true;
        return NULL;
    }
    kept->before = c->kept;
    c->kept = kept;
    return kept + 1;
}

void ana_case_free_memory(struct ana_case *c)
{
    while (c->kept) {
        struct ana_stored *before = c->kept->before;
        free(c->kept);
        c->kept = before;
    }
}

bool ana_is_culprit(const struct ana_finding *f, size_t index)
{
    for (size_t i = 0; i < f->culprits; i++)
        if (f->culprit[i] == index)
            return true;
    return false;
}

void ana_case_doubt_culprits(struct ana_case *c)
{
    struct ana_finding *f = c->out;
    size_t *edges = f->confidence == ANA_PROVEN ? ana_case_room(c) : NULL;
    bool doubt = false;
    for (size_t i = 0; edges && i < f->culprits; i++) {
        struct ana_waiting *p = ana_rank_waiting(c, f->culprit[i]);
        size_t n = p ? ana_waiting_for(c, p, edges, c->count) : 0;
        for (size_t k = 0; k < n && !doubt; k++)
            doubt = !ana_is_culprit(f, edges[k]);
    }
    f->deadlock |= doubt;
    f->confidence = doubt ? ANA_LIKELY : f->confidence;
}

size_t *ana_case_room(struct ana_case *c)
{
    return ana_case_alloc(c, (c->count + 1) * sizeof(size_t));
}

struct ana_ranks ana_case_ranks(struct ana_case *c, const size_t *index, size_t n)
{
    size_t *kept = n ? ana_case_alloc(c, n * sizeof *kept) : NULL;
    if (kept)
        memcpy(kept, index, n * sizeof *kept);
    return (struct ana_ranks){.index = kept, .n = kept ? n : 0};
}

const char *ana_case_text(struct ana_case *c, const char *text)
{
    char *kept = ana_case_alloc(c, strlen(text) + 1);
    return kept ? strcpy(kept, text) : NULL;
}
