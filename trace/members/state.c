/* The state of the members: begin and end, and the state of the whole. */
#include "trace/members/members.h"
#include "trace/util/grow.h"
#include <stdlib.h>

static void set_state(struct ana_members *members)
{
    bool alive = false, aborted = false, done = false;
    uint64_t progress = 0;
    int64_t last_end = INT64_MIN;
    members->begin_ns = INT64_MAX;
    members->end_ns = INT64_MIN;
    members->horizon_ns = INT64_MAX;
    for (size_t i = 0; i < members->count; i++) {
        const struct ana_process *p = &members->process[i];
        alive |= p->alive;
        if (p->alive && p->complete_ns < members->horizon_ns)
            members->horizon_ns = p->complete_ns;
        aborted |= p->rank.state == ANA_RANK_ABORTED || p->rank.state == ANA_RANK_DEAD;
        done |= trc_head(p->rank.file)->state == TRC_STATE_FINALIZED;
        progress += p->progress;
        if (p->rank.begin_ns < members->begin_ns)
            members->begin_ns = p->rank.begin_ns;
        if (p->rank.end_ns > members->end_ns)
            members->end_ns = p->rank.end_ns;
        if (p->last_end_ns > last_end)
            last_end = p->last_end_ns;
    }
    if (last_end == INT64_MIN)
        last_end = members->begin_ns;
    /* Polls keep last_end moving; then it counts since when no progress was seen. */
    if (progress != members->progress || members->progress_ns == INT64_MIN)
        members->progress_ns = last_end;
    members->progress = progress;
    int64_t since = members->progress_ns < last_end ? members->progress_ns : last_end;
    members->quiet_ns = alive ? members->end_ns - since : -1;
    if (aborted)
        members->state = ANA_ABORTED;
    else
        members->state = alive ? ANA_RUNNING : done ? ANA_FINISHED : ANA_ABORTED;
}

bool ana_members_update(struct ana_members *members)
{
    struct ana_here here;
    bool moved = false;
    ana_here_now(&here);
    here.read_ns = members->read_ns ? members->read_ns : here.read_ns;
    for (size_t i = 0; i < members->count; i++) {
        struct ana_process *p = &members->process[i];
        enum ana_rank_state before = p->rank.state;
        ana_process_refresh(p, members->clock, i, &here);
        bool silent = p->rank.state == ANA_RANK_UNKNOWN && p->silent_ns > 0 && !p->by_pid;
        moved |= p->alive || silent || p->rank.state != before;
        if (!p->alive && p->rank.state != ANA_RANK_UNKNOWN)
            trc_set_final(p->rank.file);
    }
    set_state(members);
    members->revision++;
    return moved;
}

bool ana_members_alive(const struct ana_members *members)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->process[i].alive)
            return true;
    return false;
}

bool ana_members_open(struct ana_members *members, const struct ana_opener *opener, const char *const *folders,
                      size_t n)
{
    static const struct trc_call unknown = {"unknown call", TRC_OP_OTHER};
    if (!ana_bundle_open(&members->bundle, folders, n))
        return false;
    members->bundle.opener = *opener;
    ana_map_init(&members->call_by_name, sizeof(uint32_t));
    ana_map_init(&members->call_by_address, sizeof(uint32_t));
    ana_map_init(&members->comm_names, sizeof(const char *));
    ana_map_init(&members->texts, sizeof(char *));
    members->progress_ns = INT64_MIN;
    members->unlisted = malloc(sizeof *members->unlisted);
    if (members->unlisted)
        ana_map_init(members->unlisted, sizeof(size_t));
    if (!members->unlisted || !ana_grow_alone(&members->call, 0, sizeof *members->call)) {
        ana_members_close(members);
        return false;
    }
    members->call[0] = (struct ana_call_name){unknown.name, unknown.opclass};
    members->calls = 1;
    return true;
}

void ana_members_forget(struct ana_members *members)
{
    free(members->process);
    members->process = NULL;
    members->count = 0;
    ana_clock_free(members->clock);
    members->clock = NULL;
}

void ana_members_close(struct ana_members *members)
{
    ana_members_forget(members);
    ana_bundle_close(&members->bundle);
    ana_map_free(&members->call_by_name);
    ana_map_free(&members->call_by_address);
    ana_map_free(&members->comm_names);
    if (members->unlisted)
        ana_map_free(members->unlisted);
    free(members->unlisted);
    for (size_t i = 0; i < members->texts.count; i++)
        free(*(char **)ana_map_value(&members->texts, i));
    ana_map_free(&members->texts);
    free(members->call);
    free(members->host);
}
