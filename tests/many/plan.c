#include "tests/many/plan.h"

#include <stddef.h>

int32_t plan_host(const struct plan *plan, int32_t rank)
{
    int32_t each = plan->ranks / plan->hosts, more = plan->ranks % plan->hosts;
    return rank < more * (each + 1) ? rank / (each + 1) : more + (rank - more * (each + 1)) / each;
}

static double lateness(const struct plan *plan, int32_t rank)
{
    double by = 0;
    int32_t host = plan_host(plan, rank);
    for (int i = 0; i < plan->late_hosts; i++)
        by += plan->late_host[i].number == host ? plan->late_host[i].by : 0;
    for (int i = 0; i < plan->late_ranks; i++)
        by += plan->late_rank[i].number == rank ? plan->late_rank[i].by : 0;
    return by;
}

void plan_settle(struct plan *plan)
{
    plan->latest = 0;
    for (int32_t r = 0; r < plan->ranks; r++)
        plan->latest = lateness(plan, r) > plan->latest ? lateness(plan, r) : plan->latest;
}

int plan_neighbours(const struct plan *plan)
{
    int32_t each = plan->ranks / plan->hosts;
    return plan->ranks < 3 ? 0 : plan->hosts > 2 && each > 1 ? 4 : 2;
}

int32_t plan_neighbour(const struct plan *plan, int32_t rank, int i)
{
    int32_t far = i < 2 ? 1 : plan->ranks / plan->hosts;
    return (rank + (i % 2 ? plan->ranks - far : far)) % plan->ranks;
}

/* Random number 0 .. 1, always the same. */
static double chance(int32_t rank, int64_t round)
{
    uint64_t x = ((uint64_t)(uint32_t)rank << 32 ^ (uint64_t)round) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return (double)(x >> 40) / (double)(1 << 24);
}

static bool is_dead(const struct plan *plan, int32_t rank, int64_t round)
{
    return plan->dead >= 0 && round >= plan->fault && plan_host(plan, rank) == plan->dead;
}

static bool misses_neighbour(const struct plan *plan, int32_t rank, int64_t round)
{
    for (int i = 0; i < plan_neighbours(plan); i++)
        if (is_dead(plan, plan_neighbour(plan, rank, i), round))
            return true;
    return false;
}

int64_t plan_death_ns(const struct plan *plan, int32_t rank)
{
    return is_dead(plan, rank, plan->fault) ? plan->fault * plan->round_ns : INT64_MAX;
}

bool plan_step(const struct plan *plan, int32_t rank, int64_t round, int number, struct plan_step *out)
{
    const int n = plan_neighbours(plan);
    const int64_t begin = round * plan->round_ns, piece = plan->round_ns / 2000;
    const bool broken = (plan->hang >= 0 || plan->dead >= 0) && round >= plan->fault;
    if (round >= plan->rounds || (broken && round > plan->fault) || is_dead(plan, rank, round))
        return false;
    const bool stuck = broken && n && misses_neighbour(plan, rank, round);
    const bool writes = plan->files && round % 10 == 9;
    if (number < 2 * n) {
        *out = (struct plan_step){number < n ? PLAN_IRECV : PLAN_ISEND, number % n, begin + number * piece,
                                  begin + number * piece + piece / 2};
        return true;
    }
    number -= 2 * n;
    if (n && number == 0) {
        *out = (struct plan_step){PLAN_WAITALL, 0, begin + 2 * n * piece, stuck ? INT64_MAX : begin + 30 * piece};
        return true;
    }
    number -= n > 0;
    if (stuck)
        return false;
    if (writes && number == 0) {
        *out = (struct plan_step){PLAN_WRITE, 0, begin + 31 * piece, begin + (35 + rank % 7) * piece};
        return true;
    }
    number -= writes;
    if (number || (broken && rank == plan->hang))
        return false;
    double share = 0.95 * (1 + lateness(plan, rank)) / (1 + plan->latest) - 0.02 * chance(rank, round);
    int64_t arrives = begin + (int64_t)((double)plan->round_ns * share);
    *out = (struct plan_step){PLAN_ALLREDUCE, 0, arrives, broken ? INT64_MAX : begin + plan->round_ns / 100 * 97};
    return true;
}
