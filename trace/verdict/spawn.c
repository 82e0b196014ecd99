/* Partners in calls that join groups.  Leaders wait for each other in MPI_Intercomm_create.  MPI_Comm_spawn,
 * MPI_Comm_accept and MPI_Comm_connect are collective, without a number among the communicator's collectives: a member
 * is missing if it is outside these calls and has completed no more of them than the waiting rank. */
#include "trace/verdict/verdict_impl.h"
#include <string.h>

static bool is_spawning(const struct ana_case *c, size_t index)
{
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if (p->call->opclass == TRC_OP_SPAWN)
            return true;
    return false;
}

/* The number of such calls that a rank has come out of. */
static uint64_t spawned(const struct trc_file *file)
{
    uint64_t calls = 0;
    for (size_t t = 0, n; t < trc_threads(file); t++) {
        const struct trc_counter *row = trc_rows(file, t, &n);
        for (size_t k = 0; k < n; k++)
            if (row[k].call_plus_1 && trc_call(file, row[k].call_plus_1 - 1u)->opclass == TRC_OP_SPAWN)
                calls += row[k].calls;
    }
    return calls;
}

size_t ana_spawn_need(struct ana_case *c, const struct ana_waiting *p)
{
    if (p->call->opclass != TRC_OP_SPAWN || !p->comm)
        return SIZE_MAX;
    uint64_t mine = spawned(ana_case_file(c, p->index));
    struct ana_range range = ana_members(c->job, p->index, p->comm, false);
    size_t node = SIZE_MAX;
    for (size_t m = range.from; m < range.to; m++) {
        size_t index = ana_member(c->job, p->index, p->comm, m);
        if (index == SIZE_MAX || index == p->index || !ana_case_known(c, index) || is_spawning(c, index) ||
            spawned(ana_case_file(c, index)) > mine)
            continue;
        node = node == SIZE_MAX ? ana_graph_node(&c->graph, ANA_WAITS_ALL) : node;
        ana_graph_wait(&c->graph, node, index);
    }
    return node;
}

struct ana_waiting *ana_other_leader(struct ana_case *c, const struct ana_waiting *p, size_t *index)
{
    *index = SIZE_MAX;
    if (strcmp(p->call->name, "MPI_Intercomm_create") != 0 || p->sig->peer < 0)
        return NULL;
    *index = ana_partner(c->job, p->index, NULL, p->sig->peer);
    if (*index == SIZE_MAX)
        return NULL;
    for (size_t i = c->first_waiting[*index]; i < c->first_waiting[*index + 1]; i++)
        if (strcmp(c->waiting[i].call->name, p->call->name) == 0)
            return &c->waiting[i];
    return NULL;
}
