/* Inside the judgement of Horovod's loops: what its rules share. */
#pragma once

#include "trace/horovod/horovod.h"
#include "trace/verdict/case_impl.h"

#define HVD_NOTABLE_NS 1000000000 /* nothing shorter is worth a word */

/* One process set that is judged. */
struct loops {
    struct ana_case *c;
    const struct ana_hvd *hvd;
    const struct ana_hvd_set *set;
    int64_t hang_ns, notable_ns, usual_ns; /* duration of a hang; duration worth a word; usual duration of a step */
    bool over;                             /* no process is left */
    uint8_t *mark;                         /* marks by member: the culprits */
};

/* Whether a member has a trace file here. */
static inline bool hvd_has_file(const struct loops *l, size_t m)
{
    return l->set->rank[m].index != SIZE_MAX;
}
/* The ranks of the members whose `mark` is `value`, as a term of a fact; those without a file are left out. */
struct ana_ranks hvd_ranks(const struct loops *l, const uint8_t *mark, uint8_t value);
/* The members of the set where the job has several sets; else empty. */
struct ana_ranks hvd_of_set(const struct loops *l);
/* The rank in the first world of a member without a file; TRC_PEER_UNKNOWN if it is not known. */
int32_t hvd_absent_rank(const struct loops *l, size_t member);
/* Number of members marked with `value`. */
static inline size_t hvd_count(const struct loops *l, const uint8_t *mark, uint8_t value)
{
    size_t n = 0;
    for (size_t m = 0; m < l->set->ranks; m++)
        n += mark[m] == value;
    return n;
}
/* Blames the marked members, and sets state, class and time. */
void hvd_settle(const struct loops *l, enum ana_verdict_class id, enum ana_confidence confidence, int64_t since_ns);
/* Adds what a member's own file tells of it. */
void hvd_where(const struct loops *l, size_t m);
/* Adds the submitters of pending tensors, three tensors at most. */
void hvd_submitters(const struct loops *l);

/* horovod_pending.c */
/* The pending tensor that tells most; NULL: none is pending. */
const struct ana_hvd_tensor *hvd_pending(const struct loops *l);
bool hvd_not_submitted(struct loops *l); /* tensors are pending and nothing moves */
bool hvd_sets_wait(struct loops *l);     /* .. and the ranks that lack them wait in another process set */
bool hvd_joined_alone(struct loops *l);  /* ranks wait in hvd.join, and the others do nothing */
