/* Collectives as actions.  Those of all ranks, in which all have as much to do, are SimGrid's own, which picks
 * algorithms as Open MPI does; others are messages: rounds in which each sends twice as far (dissemination), trees, or
 * a chain. */
#include "trace/export/ti_impl.h"
#include <stdio.h>

/* A collective, as one of its ranks sees it. */
struct coll {
    struct ana_exporting *x;
    const struct ana_event *e;
    int32_t me, n; /* place in the communicator; members */
    int32_t tag;
    uint64_t sent, received;
};

static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* The number of a member; UINT32_MAX: it is not written. */
static uint32_t member(const struct coll *c, int32_t place)
{
    return ti_number(c->x, c->e, trc_comm_world_rank(c->e->use->comm, place, false));
}

static void send_to(const struct coll *c, int32_t place, uint64_t bytes)
{
    uint32_t number = member(c, place);
    if (number != UINT32_MAX)
        ti_put_message(c->x, c->e->index, TI_SEND, number, c->tag, bytes);
}

static void receive_from(const struct coll *c, int32_t place)
{
    uint32_t number = member(c, place);
    if (number != UINT32_MAX)
        ti_put_message(c->x, c->e->index, TI_RECV, number, c->tag, 0);
}

/* Sends to one while it receives from another. */
static void exchange(const struct coll *c, int32_t to, int32_t from, uint64_t bytes)
{
    uint32_t number = member(c, to);
    if (number != UINT32_MAX)
        ti_put_message(c->x, c->e->index, TI_ISEND, number, c->tag, bytes);
    receive_from(c, from);
    if (number != UINT32_MAX)
        ti_put_wait(c->x, c->e->index, &(struct ti_request){number + 1, c->tag, 0}, false);
}

/* All hear of all: after each round, of twice as many. */
static void put_rounds(const struct coll *c)
{
    uint64_t rounds = 0;
    for (int64_t k = 1; k < c->n; k *= 2)
        rounds++;
    bool spread = c->e->use->call->opclass != TRC_OP_ALLREDUCE; /* each has a part of it, and not the whole */
    uint64_t all = c->sent > c->received ? c->sent : c->received, bytes = spread && rounds ? all / rounds : all;
    for (int64_t k = 1; k < c->n; k *= 2)
        exchange(c, (int32_t)((c->me + k) % c->n), (int32_t)((c->me - k + c->n) % c->n), bytes);
}

/* A tree whose root is member `root`; `bytes` for each member below where `spread`. */
static void put_tree(const struct coll *c, int32_t root, bool from_root, uint64_t bytes, bool spread)
{
    int64_t place = (c->me - root + c->n) % c->n, low = 1;
    while (low < c->n && !(place & low))
        low *= 2; /* the parent lacks this bit; the root has none */
    int32_t parent = (int32_t)((place - low + root + c->n) % c->n);
    uint64_t below = (uint64_t)(place + low < c->n ? low : c->n - place);
    if (from_root && place)
        receive_from(c, parent);
    for (int64_t k = from_root ? low / 2 : 1; k >= 1 && k < low; k = from_root ? k / 2 : k * 2) {
        int64_t child = place + k;
        if (child >= c->n)
            continue;
        uint64_t under = (uint64_t)(child + k < c->n ? k : c->n - child);
        if (from_root)
            send_to(c, (int32_t)((child + root) % c->n), spread ? bytes * under : bytes);
        else
            receive_from(c, (int32_t)((child + root) % c->n));
    }
    if (!from_root && place)
        send_to(c, parent, spread ? bytes * below : bytes);
}

static bool put_neighbors(const struct coll *c)
{
    const struct trc_file *file = c->x->job->process[c->e->index].rank.file;
    const struct trc_ranks *to = trc_ranks(file, c->e->use->comm->destinations),
                           *from = trc_ranks(file, c->e->use->comm->sources);
    uint32_t number;
    if (!to || !from)
        return false;
    for (uint32_t i = 0; i < to->n; i++)
        if ((number = ti_number(c->x, c->e, to->rank[i])) != UINT32_MAX)
            ti_put_message(c->x, c->e->index, TI_ISEND, number, c->tag, c->sent / to->n);
    for (uint32_t i = 0; i < from->n; i++)
        if ((number = ti_number(c->x, c->e, from->rank[i])) != UINT32_MAX)
            ti_put_message(c->x, c->e->index, TI_RECV, number, c->tag, 0);
    for (uint32_t i = 0; i < to->n; i++)
        if ((number = ti_number(c->x, c->e, to->rank[i])) != UINT32_MAX)
            ti_put_wait(c->x, c->e->index, &(struct ti_request){number + 1, c->tag, 0}, false);
    return true;
}

/* The place of the root in the communicator; -1: not known. */
static int32_t root_of(const struct coll *c)
{
    uint32_t root = ti_number(c->x, c->e, c->e->sig->peer);
    for (int32_t i = 0; root != UINT32_MAX && i < c->n; i++)
        if (member(c, i) == root)
            return i;
    return -1;
}

/* As messages.  False: there is no way to say it. */
static bool put_messages(const struct coll *c)
{
    enum trc_shape shape = trc_opclass_shape(c->e->use->call->opclass);
    int32_t root = trc_opclass_is_rooted(c->e->use->call->opclass) ? root_of(c) : 0;
    uint64_t all = c->sent > c->received ? c->sent : c->received;
    bool spread = c->e->use->call->opclass == TRC_OP_SCATTER || c->e->use->call->opclass == TRC_OP_GATHER;
    if (root < 0)
        return false;
    switch (shape) {
    case TRC_SHAPE_ALL:
        put_rounds(c);
        return true;
    case TRC_SHAPE_FROM_ROOT:
    case TRC_SHAPE_TO_ROOT:
        put_tree(c, root, shape == TRC_SHAPE_FROM_ROOT, spread && c->me == root ? all / (uint64_t)c->n : all, spread);
        return true;
    case TRC_SHAPE_PREFIX:
        if (c->me > 0)
            receive_from(c, c->me - 1);
        if (c->me + 1 < c->n)
            send_to(c, c->me + 1, all);
        return true;
    case TRC_SHAPE_NEIGHBORS:
        return put_neighbors(c);
    default:
        return false;
    }
}

/* By SimGrid's own action, whose bytes are the same on all ranks.  False: there is none. */
static bool put_own(const struct coll *c)
{
    char rest[64];
    unsigned long long all = c->sent > c->received ? c->sent : c->received;
    const char *name = c->e->use->call->name, *word;
    size_t length = strlen(name);
    uint32_t root = trc_opclass_is_rooted(c->e->use->call->opclass) ? ti_number(c->x, c->e, c->e->sig->peer) : 0;
    bool uneven = length && strchr("vw", name[length - 1]);
    if (uneven || strstr(name, "v_c") || strstr(name, "w_c") || root == UINT32_MAX)
        return false;
    switch (c->e->use->call->opclass) {
    case TRC_OP_BARRIER:
        word = "barrier";
        rest[0] = 0;
        break;
    case TRC_OP_BCAST:
        word = "bcast";
        snprintf(rest, sizeof rest, " %llu %u", all, root);
        break;
    case TRC_OP_REDUCE:
        word = "reduce";
        snprintf(rest, sizeof rest, " %llu 0 %u", all, root);
        break;
    case TRC_OP_ALLREDUCE:
        word = "allreduce";
        snprintf(rest, sizeof rest, " %llu 0", all);
        break;
    case TRC_OP_ALLGATHER:
    case TRC_OP_ALLTOALL:
        word = c->e->use->call->opclass == TRC_OP_ALLGATHER ? "allgather" : "alltoall";
        all = c->received / (uint64_t)c->n;
        snprintf(rest, sizeof rest, " %llu %llu", all, all);
        break;
    default:
        return false;
    }
    ti_put(c->x, c->e->index, (struct ti_action){word, UINT32_MAX, false, rest});
    return true;
}

bool ti_put_collective(struct ana_exporting *x, const struct ana_event *e)
{
    const struct trc_def_comm *def = &e->use->comm->def;
    struct coll c = {.x = x,
                     .e = e,
                     .me = def->rank,
                     .n = def->size,
                     .tag = (1 << 30) | ti_tag(x, e, 0) >> 1,
                     .sent = known(e->sig->sent),
                     .received = known(e->sig->received)};
    if (trc_opclass_category(e->use->call->opclass) == TRC_CAT_IO)
        return true; /* it is work */
    if (def->remote_size || def->rank < 0 || def->rank >= def->size)
        return false;
    if (def->size == 1)
        return true;
    return ((size_t)def->size == ((struct ti *)x->own)->ranks && put_own(&c)) || put_messages(&c);
}
