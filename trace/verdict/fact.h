/* Facts found by a detector: ranks, calls, communicators, counts and times. A detector never writes words. render.c
 * makes a sentence of each fact, by the table sentences.def. The facts of a finding live as long as its case. */
#pragma once

#include "trace/format/opclass.h"
#include "trace/verdict/verdict.h"

struct trc_comm;
struct trc_sig;

enum ana_sentence {
#define SENTENCE(id, words) ANA_SENTENCE_##id,
#include "trace/verdict/sentences.def"
#undef SENTENCE
    ANA_SENTENCES
};

/* Ranks by their indices: n indices at `index` or, where that is NULL, n from `first` on. Ascending, but in a circle
 * each before the one that it waits for. */
struct ana_ranks {
    const size_t *index;
    size_t first, n;
};
#define ANA_CULPRITS ((struct ana_ranks){.n = SIZE_MAX}) /* the finding's culprits, whoever they are in the end */
/* One rank; none for SIZE_MAX. */
static inline struct ana_ranks ana_one_rank(size_t index)
{
    return (struct ana_ranks){.first = index, .n = index != SIZE_MAX};
}

/* `n` ranks at `index`, ascending. */
static inline struct ana_ranks ana_ranks_at(const size_t *index, size_t n)
{
    return (struct ana_ranks){.index = index, .n = n};
}
/* The index of the i-th rank, i < ranks.n. */
static inline size_t ana_rank_at(struct ana_ranks ranks, size_t i)
{
    return ranks.index ? ranks.index[i] : ranks.first + i;
}

/* A call of a rank.  `sig` NULL: only its name is known. */
struct ana_call {
    const char *name; /* NULL: no call */
    enum trc_opclass opclass;
    size_t index;
    const struct trc_sig *sig;
};

/* A place in the program, by the address that a rank's file has for it. */
struct ana_code_site {
    size_t index;
    uint64_t address; /* 0: not known */
};

struct ana_dependency;
struct ana_fact {
    enum ana_sentence id;
#define TERM(name, kind, type) type name;
#include "trace/verdict/terms.def"
#undef TERM
};

enum { ANA_FACTS_MOST = 24 };
struct ana_finding {
    enum ana_verdict_state state; /* ANA_VERDICT_HEALTHY: nothing was found */
    enum ana_verdict_class id;
    enum ana_confidence confidence;
    bool deadlock;    /* proof that none of the ranks can move, though not of whose fault it is */
    int64_t since_ns; /* duration so far; -1 unknown */
    int64_t usual_ns; /* usual duration of such a wait; 0 unknown */
    size_t culprits;  /* rank indices, ascending */
    size_t *culprit;
    size_t absents; /* culprits without a file, by their ranks in the first world: the first few */
    int32_t absent[ANA_ABSENTS];
    struct ana_fact summary;
    struct ana_fact next; /* advice on where to look; ANA_SENTENCE_NOTHING: the advice of its class */
    size_t facts;
    struct ana_fact fact[ANA_FACTS_MOST]; /* the evidence */
};
