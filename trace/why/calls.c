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
        free(calls->rank[i].call);
    free(calls->rank);
    *calls = (struct ana_why_calls){0};
}

bool ana_why_calls_make(struct ana_why_calls *calls, struct ana_why_calls_of *rank)
{
    rank->call = calloc(calls->room, sizeof *rank->call);
    calls->out_of_memory |= !rank->call;
    return rank->call;
}
