/* Windows: whether each one-sided call lies in an epoch, and whether each epoch was closed. */
#include "trace/check/check_impl.h"
#include <string.h>

/* A window of one rank, or its locks and epochs on one target. */
struct ana_epoch {
    const struct ana_act *fence;   /* the last one; NULL: never fenced */
    const struct ana_act *lock;    /* MPI_Win_lock of this target, or MPI_Win_lock_all; NULL: not locked */
    const struct ana_act *start;   /* MPI_Win_start without MPI_Win_complete */
    const struct ana_act *post;    /* MPI_Win_post without MPI_Win_wait */
    const struct ana_act *pending; /* a call since the last fence, in no other epoch */
};

static struct ana_epoch *epoch_at(struct ana_check *c, const struct ana_act *act, bool target)
{
    struct ana_map *windows = &c->player[act->rank].windows;
    if (!windows->value_size)
        ana_map_init(windows, sizeof(struct ana_epoch));
    uint64_t which = target ? (uint64_t)(uint32_t)act->sig.peer + 1 : 0;
    struct ana_epoch *epoch = ana_map_add(windows, act->sig.object, which, 0);
    c->memory |= !epoch;
    return epoch;
}

static void transfer(struct ana_check *c, const struct ana_act *act)
{
    const struct ana_epoch *target =
        ana_map_find(&c->player[act->rank].windows, act->sig.object, (uint64_t)(uint32_t)act->sig.peer + 1, 0);
    bool locked = target && target->lock;
    struct ana_epoch *window = epoch_at(c, act, false);
    if (!window || locked || window->lock || window->start)
        return;
    if (window->fence)
        window->pending = act;
    else
        ana_found_add(c, ANA_CHECK_OUTSIDE, &act, 1, "no fence, lock or start before it");
}

static void open_or_close(struct ana_check *c, const struct ana_act *act)
{
    static const struct {
        const char *name;
        size_t member;
        bool target, opens;
    } calls[] = {
        {"MPI_Win_lock", offsetof(struct ana_epoch, lock), true, true},
        {"MPI_Win_unlock", offsetof(struct ana_epoch, lock), true, false},
        {"MPI_Win_lock_all", offsetof(struct ana_epoch, lock), false, true},
        {"MPI_Win_unlock_all", offsetof(struct ana_epoch, lock), false, false},
        {"MPI_Win_start", offsetof(struct ana_epoch, start), false, true},
        {"MPI_Win_complete", offsetof(struct ana_epoch, start), false, false},
        {"MPI_Win_post", offsetof(struct ana_epoch, post), false, true},
        {"MPI_Win_wait", offsetof(struct ana_epoch, post), false, false},
        {"MPI_Win_test", offsetof(struct ana_epoch, post), false, false}, /* an unsuccessful one is no event */
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct ana_epoch *epoch =
            strcmp(act->call->name, calls[i].name) == 0 ? epoch_at(c, act, calls[i].target) : NULL;
        if (epoch)
            *(const struct ana_act **)((char *)epoch + calls[i].member) = calls[i].opens ? act : NULL;
    }
}

static void report_open(struct ana_check *c, const struct ana_epoch *epoch)
{
    const struct ana_act *open[] = {epoch->lock, epoch->start, epoch->post, epoch->pending};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (open[i])
            ana_found_add(c, ANA_CHECK_OPEN, &open[i], 1, "%s", i == 3 ? "no fence after it" : "");
}

/* The window is freed: its epochs must be closed. */
static void close_window(struct ana_check *c, const struct ana_act *act)
{
    struct ana_map *windows = &c->player[act->rank].windows;
    for (size_t i = windows->count; i-- > 0;)
        if (ana_map_key(windows, i)[0] == act->sig.object) {
            report_open(c, ana_map_value(windows, i));
            ana_map_remove(windows, ana_map_value(windows, i));
        }
}

void ana_check_epoch(struct ana_check *c, const struct ana_act *act)
{
    if (act->sig.flags & (TRC_SIG_FAILED | TRC_SIG_COMPLETE) || !act->comm || !act->comm->object ||
        act->comm->object->is_file)
        return;
    struct ana_epoch *window;
    switch (act->call->opclass) {
    case TRC_OP_RMA:
        if (act->sig.peer != TRC_PEER_NULL)
            transfer(c, act);
        break;
    case TRC_OP_RMA_FENCE:
        if ((window = epoch_at(c, act, false))) {
            window->fence = act;
            window->pending = NULL;
        }
        break;
    case TRC_OP_RMA_SYNC:
    case TRC_OP_RMA_TEST:
        open_or_close(c, act);
        break;
    case TRC_OP_WIN_CREATE:
        close_window(c, act);
        break;
    default:
        break;
    }
}

void ana_check_open_epochs(struct ana_check *c)
{
    for (size_t i = 0; i < ana_job_ranks(c->job); i++)
        for (size_t k = 0; c->player[i].finalized && k < c->player[i].windows.count; k++)
            report_open(c, ana_map_value(&c->player[i].windows, k));
}
