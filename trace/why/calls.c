#include "trace/why/calls.h"
#include <stdlib.h>

bool ana_why_calls_init(struct ana_why_calls *calls, size_t ranks, uint32_t room)
{
    *calls = (struct ana_why_calls){.rank = calloc(ranks + 1, sizeof *calls->rank), .ranks = ranks, .room = room};
    return calls->rank;
}

void ana_why_calls_free(struct ana_why_calls *calls)
{
    for (size_t i = 0; calls->rank && i < calls->ranks; i++)
        free(calls->rank[i].call), free(calls->rank[i].spin);
    free(calls->rank);
    *calls = (struct ana_why_calls){0};
}

bool ana_why_calls_make(struct ana_why_calls *calls, struct ana_why_calls_of *rank)
{
    rank->call = calloc(calls->room, sizeof *rank->call);
    calls->out_of_memory |= !rank->call;
    return rank->call;
}

void ana_why_calls_spin(struct ana_why_calls *calls, const struct ana_run_fact *fact)
{
    struct ana_why_calls_of *rank = &calls->rank[fact->index];
    if (!rank->spin && !(rank->spin = calloc(ANA_WHY_SPINS, sizeof *rank->spin))) {
        calls->out_of_memory = true;
        return;
    }
    rank->spin[rank->spins++ % ANA_WHY_SPINS] = (struct ana_why_spin){
        fact->spins.begin_ns, fact->spins.until_ns, fact->spins.share, rank->steps + 1, fact->spins.call};
}

const struct ana_why_spin *ana_why_spin_at(const struct ana_why_calls *calls, size_t index, uint32_t step)
{
    const struct ana_why_calls_of *rank = &calls->rank[index];
    for (uint32_t i = 1; rank->spin && step && i <= ANA_WHY_SPINS && i <= rank->spins; i++) {
        const struct ana_why_spin *spin = &rank->spin[(rank->spins - i) % ANA_WHY_SPINS];
        if (spin->step == step || spin->step + 1 == step)
            return spin;
    }
    return NULL;
}
