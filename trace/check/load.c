/* Files to steps: what each thread did, in order. */
#include "trace/check/check_impl.h"
#include "trace/util/grow.h"

#define MOST_REQUESTS (1u << 26) /* start numbers past this are damage, or their first ones are long gone */
#define MOST_STEPS    (1u << 26) /* steps of all threads: 2.5 GiB */

/* ---- signatures ------------------------------------------------------------------------------------------------- */

static struct ana_act *add_act(struct ana_player *p, uint32_t *number)
{
    struct ana_acts *acts = &p->acts;
    size_t last = acts->count / ANA_ACTS;
    if (acts->count % ANA_ACTS == 0 && (!ana_grow_alone(&acts->piece, last, sizeof *acts->piece) ||
                                        !(acts->piece[last] = calloc(ANA_ACTS, sizeof **acts->piece))))
        return NULL;
    *number = (uint32_t)acts->count;
    return &acts->piece[last][acts->count++ % ANA_ACTS];
}

static uint32_t partner(const struct ana_check *c, uint32_t rank, const struct trc_comm *comm, int32_t peer)
{
    size_t index = comm ? ana_partner(c->job, rank, comm, peer) : SIZE_MAX;
    return index < ana_job_ranks(c->job) ? (uint32_t)index : ANA_NO_RANK;
}

/* The number of a record's act, remembered in the note of its signature. */
static bool find_act(struct ana_check *c, uint32_t rank, struct trc_file *file, const struct trc_record *rec,
                     uint32_t *out)
{
    uint32_t known;
    memcpy(&known, rec->of->note.room, sizeof known);
    if (known) {
        *out = known - 1;
        return true;
    }
    struct ana_act *act = add_act(&c->player[rank], out);
    if (!act)
        return false;
    act->sig = *rec->sig;
    act->call = trc_call(file, rec->sig->call);
    act->comm = trc_comm(file, rec->sig->comm);
    act->identity = ana_comm_identity(c->job, rank, act->comm);
    act->rank = rank;
    act->to = partner(c, rank, act->comm, rec->sig->peer);
    act->from = partner(c, rank, act->comm, rec->sig->source);
    known = *out + 1;
    memcpy(rec->of->note.room, &known, sizeof known);
    return true;
}

/* ---- requests --------------------------------------------------------------------------------------------------- */

static struct ana_request *request_at(struct ana_check *c, struct ana_actor *actor, uint64_t number)
{
    if (!actor || number >= MOST_REQUESTS)
        return NULL;
    while (actor->requests <= number) {
        if (!ana_grow(&actor->request, actor->requests, &actor->request_room, sizeof *actor->request)) {
            c->memory = true;
            return NULL;
        }
        actor->request[actor->requests++] = (struct ana_request){0};
    }
    return &actor->request[number];
}

static void note_request(struct ana_check *c, struct ana_actor *actor, const struct trc_record *rec,
                         const struct ana_act *act, const struct ana_act *base)
{
    uint32_t flags = rec->sig->flags;
    if (rec->request == UINT64_MAX || !(flags & (TRC_SIG_START | TRC_SIG_COMPLETE)))
        return;
    struct ana_request *request = request_at(c, ana_actor_of(c, actor->rank, rec->request_thread), rec->request);
    if (!request)
        return;
    if (flags & TRC_SIG_START) {
        request->start = act;
    } else {
        request->end = act;
        request->freed = base && base->call->opclass == TRC_OP_REQUEST;
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

/* Whether a record says something that is checked. */
static bool matters(const struct trc_file *file, const struct trc_record *rec)
{
    if (rec->kind != TRC_RECORD_EVENT || rec->sig->flags & (TRC_SIG_NESTED | TRC_SIG_POLL | TRC_SIG_CONTROL))
        return false;
    const struct trc_call *call = trc_call(file, rec->sig->call);
    enum trc_category category = trc_opclass_category(call->opclass);
    if (category == TRC_CAT_NCCL || category == TRC_CAT_KERNEL || category == TRC_CAT_COPY)
        return false;
    bool local = trc_opclass_is(call->opclass, TRC_FACT_LOCAL) && !(rec->sig->flags & TRC_SIG_SUB);
    return !local || rec->sig->flags & TRC_SIG_FAILED;
}

static bool add_step(struct ana_check *c, struct ana_actor *actor, struct trc_file *file, const struct trc_record *rec,
                     const struct ana_act **base)
{
    struct ana_step step = {
        .request_thread = rec->request_thread, .request = rec->request, .sequence = rec->sequence, .begin = rec->begin};
    if (!find_act(c, actor->rank, file, rec, &step.act) ||
        !ana_grow(&actor->step, actor->steps, &actor->room, sizeof *actor->step))
        return false;
    actor->step[actor->steps++] = step;
    const struct ana_act *act = ana_act_of(c, actor, &step);
    if (!(rec->sig->flags & TRC_SIG_SUB)) {
        *base = act;
        c->calls++;
    }
    c->wild |= rec->sig->flags & TRC_SIG_P2P_IN && ana_act_is_wild(act);
    note_request(c, actor, rec, act, *base);
    return true;
}

static bool load_thread(struct ana_check *c, struct ana_actor *actor)
{
    struct trc_file *file = ana_job_rank(c->job, actor->rank)->file;
    struct trc_cursor *cursor = trc_cursor_open(file, actor->thread);
    const struct ana_act *base = NULL;
    bool fine = cursor;
    for (struct trc_record rec; fine && trc_next(cursor, &rec) == TRC_OK;) {
        if (rec.kind == TRC_RECORD_LOST)
            c->player[actor->rank].whole = false;
        if (!matters(file, &rec))
            continue;
        if (c->calls >= MOST_STEPS) {
            ana_found_limit(c, "there are more calls than fit in memory: only the first were checked");
            c->partial = true;
            break;
        }
        fine = add_step(c, actor, file, &rec, &base);
    }
    trc_cursor_close(cursor);
    return fine;
}

static void load_player(struct ana_check *c, uint32_t rank)
{
    struct trc_file *file = ana_job_rank(c->job, rank)->file;
    const struct trc_head *head = trc_head(file);
    struct ana_player *p = &c->player[rank];
    p->first = c->actors;
    p->actors = trc_threads(file);
    p->finalized = head->state == TRC_STATE_FINALIZED;
    p->whole = !trc_misses_events(head) && !trc_truncated(file);
    for (size_t t = 0; t < p->actors; t++)
        c->actor[c->actors++] = (struct ana_actor){.rank = rank, .thread = (uint32_t)t};
}

bool ana_check_load(struct ana_check *c)
{
    size_t threads = 0;
    bool fine = true;
    for (size_t i = 0; i < ana_job_ranks(c->job); i++)
        threads += trc_threads(ana_job_rank(c->job, i)->file);
    c->player = calloc(ana_job_ranks(c->job) + 1, sizeof *c->player);
    c->actor = calloc(threads + 1, sizeof *c->actor);
    if (!c->player || !c->actor)
        return false;
    for (uint32_t i = 0; i < ana_job_ranks(c->job); i++)
        load_player(c, i);
    for (size_t a = 0; a < c->actors && fine;
         a++) /* also of ranks that are not whole: their collectives are compared */
        if (!trc_is_stream(ana_job_rank(c->job, c->actor[a].rank)->file, c->actor[a].thread))
            fine = load_thread(c, &c->actor[a]);
    for (uint32_t i = 0; i < ana_job_ranks(c->job); i++)
        c->partial |= !c->player[i].whole;
    return fine && !c->memory;
}

void ana_check_unload(struct ana_check *c)
{
    for (size_t a = 0; a < c->actors; a++) {
        free(c->actor[a].step);
        free(c->actor[a].request);
        free(c->actor[a].clock);
    }
    for (size_t i = 0; c->player && i < ana_job_ranks(c->job); i++) {
        struct ana_acts *acts = &c->player[i].acts;
        for (size_t b = 0; b * ANA_ACTS < acts->count; b++)
            free(acts->piece[b]);
        free(acts->piece);
        ana_map_free(&c->player[i].windows);
        free(c->player[i].wild);
    }
    free(c->player);
    free(c->actor);
}
