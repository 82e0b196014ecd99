/* Actions of the ranks of a made-up job, and their times: rounds of an exchange with neighbours, computing and an
 * MPI_Allreduce.  Everybody waits in it for late ranks, so all that a viewer may say of the job follows from this plan.
 *
 *   0      messages to and from up to 4 neighbours: ranks r +- 1 and, of several hosts, r +- ranks / hosts
 *   1.5%   MPI_Waitall ends (of it all rounds have the same); each tenth round of a job with files writes 1 MiB
 *   95%    the latest rank comes to MPI_Allreduce; a rank that is late by x computes 1 + x as long as one that is not,
 *          up to 2% less by chance
 *   97%    MPI_Allreduce ends everywhere
 *
 * From round `fault` on nothing completes: rank `hang` computes for ever, all ranks of host `dead` are gone.  Times are
 * ns since the job began.  Pure; the plan is not changed after plan_settle. */
#ifndef TESTS_MANY_PLAN_H
#define TESTS_MANY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum { PLAN_NEIGHBOURS = 4, PLAN_LATE = 16 };

struct plan {
    int32_t ranks, hosts;
    int64_t rounds, round_ns;
    struct {
        int32_t number;
        double by; /* 0.2: computes a fifth longer */
    } late_rank[PLAN_LATE], late_host[PLAN_LATE];
    int late_ranks, late_hosts;
    int32_t hang, dead; /* a rank, a host; -1: none */
    int64_t fault;      /* round */
    bool files;
    double latest; /* the largest lateness of all */
};

enum plan_call { PLAN_IRECV, PLAN_ISEND, PLAN_WAITALL, PLAN_WRITE, PLAN_ALLREDUCE };
struct plan_step {
    enum plan_call call;
    int neighbour; /* direction of a message: sent with tag 1 + this, received with the tag of the opposite one */
    int64_t begin_ns, end_ns; /* end INT64_MAX: it never ends */
};

/* Fills in the members that follow from the rest. */
void plan_settle(struct plan *plan);

/* The host that a rank is on: as many a host, the first ones one more where it does not come out even. */
int32_t plan_host(const struct plan *plan, int32_t rank);

/* Number of neighbours of each rank: 0, 2 or 4. */
int plan_neighbours(const struct plan *plan);

/* Neighbour i of a rank; the opposite way is i ^ 1. */
int32_t plan_neighbour(const struct plan *plan, int32_t rank, int i);

/* Call `number` of a rank in a round.  False: the round has no such call, or it never begins. */
bool plan_step(const struct plan *plan, int32_t rank, int64_t round, int number, struct plan_step *out);

/* Time at which a rank is gone without a word; INT64_MAX: it stays. */
int64_t plan_death_ns(const struct plan *plan, int32_t rank);

#endif
