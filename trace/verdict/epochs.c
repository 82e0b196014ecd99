/* Epochs of windows with groups: what MPI_Win_start, _complete and _wait need of each member of their group.
 *
 *     MPI_Win_start, _complete, transfers between     as many MPI_Win_post of the target for me as my MPI_Win_start
 *     MPI_Win_wait, MPI_Win_test                      as many MPI_Win_complete of the origin as my MPI_Win_post for it
 *
 * The numbers are counted over all events of both, so they are known only where none was overwritten. */
#include "trace/verdict/epochs.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

#define READ_MOST (UINT64_C(256) << 20) /* bytes of events that are read for one verdict */

/* Calls of one window with one partner. */
struct count {
    uint32_t calls[ANA_EPOCH_CALLS];
};

static void add_call(struct ana_case *c, struct ana_epochs *epochs, uint64_t window, size_t other,
                     enum ana_epoch_call call)
{
    struct count *count = ana_map_add(&epochs->counts, window, other, 0);
    c->memory |= !count;
    if (count)
        count->calls[call]++;
}

static void count_record(struct ana_case *c, size_t index, struct ana_epochs *epochs, const struct trc_record *rec)
{
    struct trc_file *file = ana_case_file(c, index);
    const struct trc_sig *sig = rec->sig;
    if (rec->kind != TRC_RECORD_EVENT || sig->flags & (TRC_SIG_NESTED | TRC_SIG_FAILED | TRC_SIG_POLL))
        return;
    enum ana_epoch_call call = ana_epoch_call_of(trc_call(file, sig->call));
    if (call == ANA_EPOCH_CALLS)
        return;
    const struct trc_comm *comm = trc_comm(file, sig->comm);
    const struct trc_ranks *group = comm && sig->tag > 0 ? trc_ranks(file, (uint32_t)sig->tag) : NULL;
    epochs->known &= group != NULL;
    const uint64_t window = ana_comm_identity(c->job, index, comm);
    add_call(c, epochs, window, ANA_ALL_PARTNERS, call);
    for (uint32_t i = 0; group && i < group->n; i++)
        add_call(c, epochs, window, ana_partner(c->job, index, comm, group->rank[i]), call);
}

static void read_events(struct ana_case *c, size_t index, struct ana_epochs *epochs)
{
    struct trc_file *file = ana_case_file(c, index);
    for (size_t t = 0; t < trc_threads(file); t++) {
        struct trc_cursor *cursor = trc_is_stream(file, t) ? NULL : trc_cursor_open(file, t);
        for (struct trc_record rec; cursor && trc_next(cursor, &rec) == TRC_OK;)
            count_record(c, index, epochs, &rec);
        trc_cursor_close(cursor);
    }
}

/* NULL: out of memory, or so much was read for this verdict that the next one has to go on. */
static struct ana_epochs *read_epochs(struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->members->process[index];
    const struct trc_head *head = trc_head(p->rank.file);
    struct ana_epochs *epochs = calloc(1, sizeof *epochs);
    for (size_t i = trc_event_chunks(p->rank.file); i-- > 0;)
        c->epoch_bytes += trc_event_chunk(p->rank.file, i).committed;
    c->memory |= !epochs;
    if (!epochs || c->epoch_bytes > READ_MOST) {
        free(epochs);
        return NULL;
    }
    ana_map_init(&epochs->counts, sizeof(struct count));
    epochs->progress = p->progress;
    epochs->known = ana_case_events_known(c, index) && !trc_misses_events(head);
    if (epochs->known)
        read_events(c, index, epochs);
    return epochs;
}

void ana_epochs_free(struct ana_epochs *epochs)
{
    if (!epochs)
        return;
    ana_map_free(&epochs->counts);
    free(epochs);
}

/* The calls of a rank, read when they are first asked for, and kept as long as it stands; NULL: not known now. */
static const struct ana_epochs *epochs_of(struct ana_case *c, size_t index)
{
    struct ana_known *known = ana_known_of(c, index);
    c->memory |= !known;
    if (!known)
        return NULL;
    if (known->epochs && known->epochs->progress != c->members->process[index].progress) {
        ana_epochs_free(known->epochs);
        known->epochs = NULL;
    }
    if (!known->epochs)
        known->epochs = read_epochs(c, index);
    return known->epochs;
}

int64_t ana_epoch_calls(struct ana_case *c, size_t index, uint64_t window, size_t other, enum ana_epoch_call call)
{
    const struct ana_epochs *epochs = epochs_of(c, index);
    if (!epochs || !epochs->known)
        return -1;
    const struct count *count = ana_map_find(&epochs->counts, window, other, 0);
    return count ? count->calls[call] : 0;
}

/* ---- missing parts of an epoch ----------------------------------------------------------------------------------- */

/* Whether `other` has not done its part of the epoch that the rank is in: 1; 0: it has; -1: not known. */
static int lacks(struct ana_case *c, const struct ana_waiting *p, size_t other, bool exposed)
{
    enum ana_epoch_call mine = exposed ? ANA_EPOCH_POST : ANA_EPOCH_START,
                        needed = exposed ? ANA_EPOCH_COMPLETE : ANA_EPOCH_POST;
    if (other == SIZE_MAX)
        return -1;
    int64_t begun = ana_epoch_calls(c, p->index, p->identity, other, mine),
            done = ana_epoch_calls(c, other, p->identity, p->index, needed);
    if (begun < 0 || done < 0)
        return -1;
    bool begins = ana_epoch_call_of(p->call) == ANA_EPOCH_START; /* a start is counted once it has returned */
    return done < begun + begins;
}

/* Whether a transfer to this rank is one of an epoch with a group. */
static bool is_started(struct ana_case *c, const struct ana_waiting *p, size_t other)
{
    int64_t starts = ana_epoch_calls(c, p->index, p->identity, other, ANA_EPOCH_START);
    return starts > 0 && starts > ana_epoch_calls(c, p->index, p->identity, other, ANA_EPOCH_COMPLETE);
}

bool ana_epoch_dependencies(struct ana_case *c, struct ana_waiting *p, int32_t *lacking, size_t max, size_t *n)
{
    const struct trc_file *file = ana_case_file(c, p->index);
    enum ana_epoch_call call = ana_epoch_call_of(p->call);
    bool transfer = p->call->opclass == TRC_OP_RMA;
    *n = 0;
    if (!p->comm || (call == ANA_EPOCH_CALLS && !transfer) || call == ANA_EPOCH_POST)
        return false;
    if (transfer && (p->sig->peer < 0 || !is_started(c, p, ana_partner(c->job, p->index, p->comm, p->sig->peer))))
        return false;
    const struct trc_ranks *group = !transfer && p->sig->tag > 0 ? trc_ranks(file, (uint32_t)p->sig->tag) : NULL;
    uint32_t members = transfer ? 1 : group ? group->n : 0;
    for (uint32_t i = 0; i < members && *n < max; i++) {
        int32_t rank = transfer ? p->sig->peer : group->rank[i];
        int lacking_one = lacks(c, p, ana_partner(c->job, p->index, p->comm, rank), call == ANA_EPOCH_WAIT);
        if (lacking_one < 0) {
            *n = 0;
            return true;
        }
        if (lacking_one)
            lacking[(*n)++] = rank;
    }
    return true;
}
