/* Partners in calls that join groups.  Leaders wait for each other in MPI_Intercomm_create.  MPI_Comm_spawn,
 * MPI_Comm_accept and MPI_Comm_connect are collective, without a number among the communicator's collectives: a member
 * is missing if it is outside these calls and has completed no more of them than the waiting rank.  The same holds for
 * members of the group of MPI_Comm_create_group, who must give the same group and tag. */
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
static uint64_t completed(const struct trc_file *file, const struct trc_call *like)
{
    uint64_t calls = 0;
    for (size_t t = 0, n; t < trc_threads(file); t++) {
        const struct trc_counter *row = trc_rows(file, t, &n);
        for (size_t k = 0; k < n; k++) {
            const struct trc_call *call = row[k].call_plus_1 ? trc_call(file, row[k].call_plus_1 - 1u) : NULL;
            if (call && call->opclass == like->opclass &&
                (call->opclass == TRC_OP_SPAWN || call->name == like->name || strcmp(call->name, like->name) == 0))
                calls += row[k].calls;
        }
    }
    return calls;
}

const struct trc_ranks *ana_created_group(struct ana_case *c, const struct ana_waiting *p)
{
    bool creates = p->comm && strcmp(p->call->name, "MPI_Comm_create_group") == 0;
    return creates ? trc_ranks(ana_case_file(c, p->index), p->sig->object) : NULL;
}

const struct ana_waiting *ana_creates_too(struct ana_case *c, const struct ana_waiting *p, size_t index)
{
    const struct trc_ranks *mine = ana_created_group(c, p);
    const struct ana_waiting *found = NULL;
    for (const struct ana_waiting *q = ana_waits(c, index); q < ana_waits(c, index + 1) && mine; q++) {
        const struct trc_ranks *group = q->identity == p->identity ? ana_created_group(c, q) : NULL;
        if (group && group->n == mine->n && memcmp(group->rank, mine->rank, mine->n * sizeof *mine->rank) == 0 &&
            (!found || q->sig->tag == p->sig->tag))
            found = q;
    }
    return found;
}

/* Whether a member has come there, or is past it. */
static bool has_come(struct ana_case *c, const struct ana_waiting *p, bool creates, size_t index, uint64_t mine)
{
    const struct ana_waiting *q = creates ? ana_creates_too(c, p, index) : NULL;
    if (q)
        return q->sig->tag == p->sig->tag;
    return (!creates && is_spawning(c, index)) || completed(ana_case_file(c, index), p->call) > mine;
}

size_t ana_spawn_need(struct ana_case *c, const struct ana_waiting *p)
{
    const struct trc_ranks *group = ana_created_group(c, p);
    if (!p->comm || (!group && p->call->opclass != TRC_OP_SPAWN))
        return SIZE_MAX;
    uint64_t mine = completed(ana_case_file(c, p->index), p->call);
    struct ana_range range = group ? (struct ana_range){0, group->n} : ana_members(c->job, p->index, p->comm, false);
    size_t node = SIZE_MAX;
    for (size_t m = range.from; m < range.to; m++) {
        size_t index =
            group ? ana_partner(c->job, p->index, NULL, group->rank[m]) : ana_member(c->job, p->index, p->comm, m);
        if (index == SIZE_MAX || index == p->index || !ana_case_known(c, index) || has_come(c, p, group, index, mine))
            continue;
        node = node == SIZE_MAX ? ana_graph_node(&c->graph, ANA_WAITS_ALL) : node;
        ana_graph_wait(&c->graph, node, index);
        c->rank[p->index].sure &= !group || ana_creates_too(c, p, index); /* calls are not counted by group */
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
