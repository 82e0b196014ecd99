/* Sends and receives, paired in the order of their channels.  A receive stands in the channel of the message that it
 * got in the recorded run. */
#include "trace/check/check_impl.h"
#include <string.h>

/* Ends of one kind that wait for the other, oldest first. */
struct ana_ends_queue {
    struct ana_end *head, *tail;
};

void ana_ends_begin(struct ana_check *c)
{
    ana_pool_init(&c->ends, sizeof(struct ana_end));
    ana_map_init(&c->channels, sizeof(struct ana_ends_queue));
}

void ana_ends_free(struct ana_check *c)
{
    ana_pool_free(&c->ends);
    ana_map_free(&c->channels);
}

static struct ana_ends_queue *find_queue(struct ana_check *c, const struct ana_act *act, bool receive)
{
    uint64_t source = receive ? act->from : act->rank, destination = receive ? act->rank : act->to;
    struct ana_ends_queue *queue = ana_map_add(&c->channels, act->identity, source << 32 | destination,
                                               (uint32_t)(receive ? act->sig.rtag : act->sig.tag));
    c->memory |= !queue;
    return queue;
}

static void free_end(struct ana_check *c, struct ana_end *end)
{
    ana_stamp_drop(c, end->stamp);
    ana_pool_free_item(&c->ends, end);
}

static void end_is_done(struct ana_check *c, struct ana_end *end)
{
    bool was = end->done;
    end->paired = end->done = true;
    if (!end->owner)
        free_end(c, end);
    else if (end->waiter && !was)
        ana_actor_wake(c, end->waiter);
}

static void pair_ends(struct ana_check *c, struct ana_end *send, struct ana_end *receive)
{
    receive->stamp = send->stamp;
    send->stamp = NULL;
    ana_check_message(c, send->act, receive->act);
    if (c->wild)
        ana_check_race(c, send, receive);
    end_is_done(c, send);
    end_is_done(c, receive);
}

/* Whether MPI keeps a copy of the message until it is received: then no synchronous send is meant. */
static bool is_buffered(const struct ana_act *act)
{
    const char *name = act->call->name;
    return strncmp(name, "MPI_Bsend", 9) == 0 || strncmp(name, "MPI_Ibsend", 10) == 0;
}

struct ana_end *ana_end_post(struct ana_check *c, struct ana_actor *actor, const struct ana_act *act,
                             const struct ana_act *got, bool receive)
{
    const struct ana_act *channel = receive ? got : act;
    if (c->partial || !channel || !channel->comm || (receive ? channel->from : channel->to) == ANA_NO_RANK ||
        (receive && channel->sig.rtag == TRC_TAG_ANY)) {
        c->player[actor->rank].unknown_receives |= receive;
        return NULL;
    }
    struct ana_ends_queue *queue = find_queue(c, channel, receive);
    struct ana_end *end = queue ? ana_pool_alloc(&c->ends) : NULL;
    if (!end) {
        c->memory = true;
        return NULL;
    }
    *end = (struct ana_end){.act = act, .owner = actor, .got = got, .receive = receive, .serial = ++c->serial};
    end->done = !receive && is_buffered(act);
    end->stamp = receive ? NULL : ana_stamp_copy(c, actor);
    struct ana_end *other = queue->head;
    if (other && other->receive != receive) {
        queue->head = other->next;
        pair_ends(c, receive ? other : end, receive ? end : other);
    } else {
        *(other ? &queue->tail->next : &queue->head) = end;
        queue->tail = end;
    }
    return end;
}

void ana_end_leave(struct ana_check *c, struct ana_end *end)
{
    if (!end)
        return;
    end->owner = end->waiter = NULL;
    if (end->paired)
        free_end(c, end);
}

void ana_end_buffer(struct ana_check *c, struct ana_end *end)
{
    end->done = true;
    if (end->waiter)
        ana_actor_wake(c, end->waiter);
}

bool ana_end_has_other(const struct ana_check *c, const struct ana_end *end)
{
    for (size_t i = 0; i < c->channels.count; i++) {
        const struct ana_ends_queue *queue = ana_map_value(&c->channels, i);
        const struct ana_act *send = queue->head && !queue->head->receive ? queue->head->act : NULL;
        if (send && send->to == end->act->rank && send->identity == end->act->identity &&
            (ana_act_asks_tag(end->act) == TRC_TAG_ANY || ana_act_asks_tag(end->act) == send->sig.tag))
            return true;
    }
    return false;
}

void ana_check_unreceived(struct ana_check *c)
{
    for (size_t i = 0; i < c->channels.count; i++) {
        struct ana_ends_queue *queue = ana_map_value(&c->channels, i);
        for (struct ana_end *end = queue->head; end && !end->receive; end = end->next) {
            const struct ana_player *to = &c->player[end->act->to];
            if (!to->unknown_receives && to->finalized && c->player[end->act->rank].finalized)
                ana_found_add(c, ANA_CHECK_UNRECEIVED, &end->act, 1, "to rank %s, tag %d",
                              ana_rank_label(c->job, end->act->to).text, end->act->sig.tag);
        }
    }
}
