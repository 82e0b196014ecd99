/* Partners and members of a communicator as rank indices, also in other worlds; and names of ranks. */
#include "trace/relations/bridge.h"
#include "trace/job/job_impl.h"

/* The index of the first process at this place or behind it. */
static size_t place_of(const struct ana_job *job, uint32_t world, int32_t rank)
{
    size_t low = 0, high = job->members.count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct ana_rank *r = &job->members.process[mid].rank;
        if (r->world != world ? r->world < world : (uint32_t)r->rank < (uint32_t)rank)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t ana_ranks_below(const struct ana_job *job, uint32_t world, int32_t size, size_t *first)
{
    *first = place_of(job, world, 0);
    return size > 0 ? place_of(job, world, size) - *first : 0;
}

size_t ana_index_of_rank(const struct ana_job *job, uint32_t world, int32_t rank)
{
    if (rank < 0)
        return SIZE_MAX;
    size_t low = place_of(job, world, rank);
    bool found = low < job->members.count && job->members.process[low].rank.world == world &&
                 job->members.process[low].rank.rank == rank;
    return found ? low : SIZE_MAX;
}

struct ana_label ana_rank_label(const struct ana_job *job, size_t index)
{
    return index < job->members.count ? ana_label_of(ana_rank_id(&job->members.process[index].rank))
                                      : (struct ana_label){"?"};
}

void ana_rank_list(const struct ana_job *job, const size_t *index, size_t n, char *out, size_t size)
{
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, ANA_RANGES_MOST, true);
    for (size_t i = 0; i < n; i++)
        ana_ranges_add(&ranges, ana_rank_id(&job->members.process[index[i]].rank));
    ana_ranges_end(&ranges);
}

void ana_absent_words(const struct ana_job *job, char *out, size_t size)
{
    enum { MOST = 1 << 16 }; /* ranks that are walked: the size of a world is only a number that a file says */
    struct ana_ranges ranges;
    const struct ana_members *m = &job->members;
    const uint32_t world = m->count ? m->process[0].rank.world : 0;
    if (m->world_size > MOST || (m->count && m->process[m->count - 1].rank.world != world)) {
        snprintf(out, size, "%zu of %zu ranks", m->world_size - m->count, m->world_size);
        return;
    }
    ana_ranges_begin(&ranges, out, size, ANA_RANGES_MOST, true);
    for (size_t r = 0; r < m->world_size; r++)
        if (ana_index_of_rank(job, world, (int32_t)r) == SIZE_MAX)
            ana_ranges_add(&ranges, (struct ana_rank_id){.world = world, .rank = (int32_t)r});
    ana_ranges_end(&ranges);
    const size_t used = strlen(out);
    snprintf(out + used, size - used, " of %zu", m->world_size);
}

static const struct ana_bridge *bridge_of(const struct ana_job *job, size_t index, const struct trc_comm *comm)
{
    bool between = job->members.bridges && comm && comm->def.flags & TRC_COMM_FOREIGN;
    return between ? ana_bridge_find(job->members.bridges, job->members.process[index].rank.world, comm->def.identity)
                   : NULL;
}

uint64_t ana_comm_identity(const struct ana_job *job, size_t index, const struct trc_comm *comm)
{
    return comm ? ana_bridge_identity(job->members.bridges, job->members.process[index].rank.world, &comm->def) : 0;
}

bool ana_remote_unknown(const struct ana_job *job, size_t index, const struct trc_comm *comm)
{
    return job->members.bridges && comm && comm->def.flags & TRC_COMM_FOREIGN && !bridge_of(job, index, comm);
}

size_t ana_partner(const struct ana_job *job, size_t index, const struct trc_comm *comm, int32_t peer)
{
    if (peer > TRC_PEER_REMOTE)
        return ana_index_of_rank(job, job->members.process[index].rank.world, peer);
    uint32_t far = ana_bridge_partner(bridge_of(job, index, comm), peer);
    return far < job->members.count ? far : SIZE_MAX;
}

/* Whether a communicator is a group of Gloo or NCCL of some ranks: no file lists its members, and each defines it. */
static bool is_unlisted(const struct trc_comm *comm)
{
    return !comm->members && !comm->def.flags;
}

/* The members of all such groups, as they are defined now. */
static const struct ana_map *unlisted_groups(const struct ana_job *job)
{
    struct ana_map *groups = job->members.unlisted;
    const size_t *when = ana_map_find(groups, 0, SIZE_MAX, 0), now = job->members.refreshes;
    if (when && *when == now)
        return groups;
    ana_map_free(groups);
    for (size_t i = 0; i < job->members.count; i++) {
        const struct trc_comm *comm;
        uint64_t created;
        for (size_t k = 0; (comm = trc_comm_at(job->members.process[i].rank.file, k, &created)) != NULL; k++) {
            size_t *at =
                is_unlisted(comm) ? ana_map_add(groups, comm->def.identity, (uint32_t)comm->def.rank, 0) : NULL;
            if (at)
                *at = i;
        }
    }
    size_t *made = ana_map_add(groups, 0, SIZE_MAX, 0);
    if (made)
        *made = now;
    return groups;
}

struct ana_range ana_members(const struct ana_job *job, size_t index, const struct trc_comm *comm, bool remote)
{
    const struct trc_def_comm *def = &comm->def;
    size_t size = (size_t)def->size, far = (size_t)def->remote_size, listed = def->members, first;
    if (def->flags & TRC_COMM_SELF)
        return (struct ana_range){0, 0};
    if (comm->members) {
        bool one_side = far && listed == far; /* the remote group alone */
        size_t to = one_side || listed > size + far ? size + far : listed;
        size_t from = one_side || remote ? size : 0;
        return (struct ana_range){from < to ? from : to, to};
    }
    if (is_unlisted(comm) && size <= job->members.count)
        return (struct ana_range){0, size};
    if (remote || !(def->flags & (TRC_COMM_WORLD | TRC_COMM_ALL)))
        return (struct ana_range){0, 0};
    size_t n = ana_ranks_below(job, job->members.process[index].rank.world, def->size, &first);
    return (struct ana_range){first, first + n};
}

size_t ana_member(const struct ana_job *job, size_t index, const struct trc_comm *comm, size_t m)
{
    const struct trc_def_comm *def = &comm->def;
    const struct ana_process *p = &job->members.process[m];
    if (is_unlisted(comm)) {
        const size_t *at = ana_map_find(unlisted_groups(job), def->identity, m, 0);
        return at ? *at : SIZE_MAX;
    }
    if (!comm->members) /* first of two files of one rank counts */
        return m && p->rank.rank == p[-1].rank.rank && p->rank.world == p[-1].rank.world ? SIZE_MAX : m;
    bool remote = m >= (size_t)def->size;
    int32_t rank = (int32_t)(remote ? m - (size_t)def->size : m), of_world = trc_comm_world_rank(comm, rank, remote);
    return ana_partner(job, index, comm, of_world == TRC_PEER_UNKNOWN ? TRC_PEER_REMOTE - rank : of_world);
}
