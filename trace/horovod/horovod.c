/* Reads the loops of a job, and fills what callers see. */
#include "trace/horovod/horovod_impl.h"
#include "trace/util/rows.h"
#include "trace/util/grow.h"
#include <stdlib.h>

#define HORIZON_NS 200000000 /* one rank may write a round so much later than another */
#define SILENT_NS  2000000000
#define SAMPLE_NS  900000000
#define NCCL_NAME  128 /* bytes of an ncclUniqueId */

const char *ana_hvd_op_name(enum ana_hvd_op op)
{
    static const char *const name[ANA_HVD_OPS] = {"allreduce", "allgather", "broadcast", "join",
                                                  "adasum",    "alltoall",  "barrier",   "reducescatter"};
    return (unsigned)op < ANA_HVD_OPS ? name[op] : "?";
}

const char *ana_hvd_phase_name(enum ana_hvd_phase phase)
{
    static const char *const name[] = {"between cycles", "cycle",      "negotiation", "operation",
                                       "other set",      "other call", "ended"};
    TRC_ASSERT_ROWS(name, ANA_HVD_ENDED);
    return name[phase];
}

/* ---- owning ----------------------------------------------------------------------------------------------------- */

/* Returns an empty state of a job's loops; NULL: out of memory.  Free with free_state. */
static struct ana_hvd_state *new_state(void)
{
    return calloc(1, sizeof(struct ana_hvd_state));
}

static void free_set(struct ana_hvd_set *set, struct hvd_work *work)
{
    for (size_t m = 0; work->member && m < set->ranks; m++) {
        struct hvd_member *member = &work->member[m];
        for (size_t i = member->queue_at; i < member->queued; i++)
            free(member->queue[i].bytes);
        free(member->queue);
    }
    for (size_t t = 0; t < set->tensors; t++)
        hvd_free_tensor(&set->tensor[t]);
    ana_map_free(&work->names);
    ana_map_free(&work->forms);
    free(set->form);
    free(set->refusal.said);
    free(work->member);
    free(work->step);
    free(set->tensor);
    free(set->rank);
}

static void forget_all(struct ana_hvd_state *state)
{
    for (size_t i = 0; i < state->seen.sets; i++)
        free_set(&state->seen.set[i], &state->work[i]);
    for (size_t i = 0; i < state->lanes; i++)
        trc_cursor_close(state->lane[i].cursor);
    free(state->seen.set);
    free(state->work);
    free(state->lane);
    *state = (struct ana_hvd_state){0};
}

static void free_state(struct ana_hvd_state *state)
{
    if (state)
        forget_all(state);
    free(state);
}

/* ---- sets and their members ------------------------------------------------------------------------------------- */

/* HOROVOD_CACHE_CAPACITY of the process, where its file has it. */
static uint32_t capacity_of(const struct trc_file *file)
{
    const char *text = trc_fact(file, "env.HOROVOD_CACHE_CAPACITY");
    return text && *text >= '0' && *text <= '9' ? (uint32_t)strtoul(text, NULL, 10) : ANA_HVD_CAPACITY;
}

static bool add_set(struct ana_hvd_state *state, const struct trc_comm *comm, const struct trc_file *file,
                    size_t processes)
{
    size_t n = state->seen.sets, ranks = (size_t)comm->def.size;
    if (ranks == 0 || ranks > processes + HVD_ABSENT || !hvd_cells(&state->cells, ranks * HVD_MEMBER_CELLS))
        return false;
    if (!ana_grow_alone(&state->seen.set, n, sizeof *state->seen.set) ||
        !ana_grow_alone(&state->work, n, sizeof *state->work))
        return false;
    struct ana_hvd_set *set = state->seen.set;
    struct hvd_work *work = state->work;
    set[n] = (struct ana_hvd_set){.comm_identity = comm->def.identity,
                                  .ranks = ranks,
                                  .rank = calloc(ranks, sizeof(struct ana_hvd_rank)),
                                  .cycle_rate = NAN,
                                  .agreed_ns = ANA_HVD_NEVER,
                                  .stall = {.begin_ns = ANA_HVD_NEVER, .end_ns = ANA_HVD_NEVER}};
    work[n] = (struct hvd_work){.member = calloc(ranks, sizeof(struct hvd_member)),
                                .step = calloc(2 * HVD_STEPS, sizeof(struct ana_hvd_step)),
                                .cells = &state->cells};
    ana_map_init(&work[n].names, sizeof(uint32_t));
    ana_map_init(&work[n].forms, sizeof(uint32_t));
    ana_hvd_cache_init(&work[n].cache, capacity_of(file));
    state->seen.sets = n + 1;
    if (!set[n].rank || !work[n].member) {
        set[n].ranks = 0;
        return false;
    }
    for (size_t m = 0; m < ranks; m++) {
        set[n].rank[m] =
            (struct ana_hvd_rank){.index = SIZE_MAX, .shutdown_ns = ANA_HVD_NEVER, .operation_begin_ns = ANA_HVD_NEVER};
        work[n].member[m].first_ns = ANA_HVD_NEVER;
    }
    return true;
}

/* Finds the set of a communicator, and the member that the file is; false: it is none. */
static bool find_member(struct ana_hvd_state *state, const struct ana_job *job, const struct hvd_lane *lane,
                        uint32_t comm_id, bool make, size_t *set, size_t *member)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[lane->index].rank.file;
    const struct trc_comm *comm = trc_comm(file, comm_id);
    if (!comm || comm->def.rank < 0)
        return false;
    size_t s = 0;
    while (s < state->seen.sets && state->seen.set[s].comm_identity != comm->def.identity)
        s++;
    if (s == state->seen.sets && (!make || !add_set(state, comm, file, members->count)))
        return false;
    struct ana_hvd_set *found = &state->seen.set[s];
    if ((size_t)comm->def.rank >= found->ranks)
        return false;
    *set = s;
    *member = (size_t)comm->def.rank;
    struct hvd_member *m = &state->work[s].member[*member];
    if (!m->file) {
        m->file = file;
        m->comm = comm_id;
        found->rank[*member].index = lane->index;
        found->rank[*member].thread = lane->thread;
        found->names_lost |= members->process[lane->index].recycled;
    }
    return true;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static void queue_round(struct hvd_member *member, const struct trc_record *record, int64_t begin_ns, int64_t end_ns)
{
    if (member->queue_at > 256) {
        memmove(member->queue, member->queue + member->queue_at,
                (member->queued - member->queue_at) * sizeof *member->queue);
        member->queued -= member->queue_at;
        member->queue_at = 0;
    }
    if (!ana_grow(&member->queue, member->queued, &member->queue_room, sizeof *member->queue))
        return;
    struct hvd_contribution said = {.kind = record->said.kind,
                                    .cycle = record->said.round,
                                    .sequence = record->sequence,
                                    .begin_ns = begin_ns,
                                    .end_ns = end_ns,
                                    .size = record->said.kept,
                                    .bytes = malloc(record->said.kept + 1)};
    if (!said.bytes)
        return;
    memcpy(said.bytes, record->said.bytes, record->said.kept);
    member->queue[member->queued++] = said;
}

/* The kind of round that a FOLD counts: the kind of the ROUND before it, else the last one of its call site. */
static uint32_t kind_of(struct hvd_member *member, uint64_t site)
{
    uint32_t *known = NULL;
    for (size_t i = 0; i < HVD_SITES && !known; i++)
        if (member->site[i].site == site || !member->site[i].site) {
            member->site[i].site = site;
            known = &member->site[i].kind;
        }
    if (known && member->last_kind)
        *known = member->last_kind;
    member->last_kind = 0;
    return known ? *known : 0;
}

static void add_fold(struct ana_hvd_set *set, struct hvd_work *work, size_t m, const struct trc_record *record,
                     const struct trc_call *call, int64_t end_ns, int64_t busy_ns)
{
    struct hvd_member *member = &work->member[m];
    struct ana_hvd_rank *rank = &set->rank[m];
    uint32_t kind = kind_of(member, record->sig->site);
    rank->negotiation_ns += busy_ns;
    member->held = false;
    member->round_ns = end_ns;
    set->by[hvd_library_of(call)].rounds += record->count;
    if (kind == TRC_ROUND_AND || (kind == TRC_ROUND_RESPONSE && !set->cache)) {
        rank->cycles += record->count;
        if (end_ns > rank->cycle_ns)
            rank->cycle_ns = end_ns;
    }
    if ((record->sig->sent == NCCL_NAME || record->sig->received == NCCL_NAME) && kind != TRC_ROUND_RESPONSE && !kind)
        set->nccl_named = true;
}

static void add_operation(struct ana_hvd_set *set, struct hvd_work *work, size_t m, const struct trc_record *record,
                          int64_t begin_ns, int64_t end_ns)
{
    struct ana_hvd_rank *rank = &set->rank[m];
    work->member[m].last_kind = 0;
    if (rank->cycles == 0)
        return;
    rank->operations++;
    rank->operation_bytes += record->sig->sent == TRC_BYTES_UNKNOWN ? 0 : record->sig->sent;
    rank->operation_ns += end_ns - begin_ns;
    if (rank->operation_begin_ns == ANA_HVD_NEVER)
        rank->operation_begin_ns = begin_ns;
}

static void read_lane(struct ana_hvd_state *state, const struct ana_job *job, struct hvd_lane *lane)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[lane->index].rank.file;
    const struct ana_clock_line line = ana_clock_line(members->clock, lane->index);
    struct trc_record record;
    size_t s, m;
    while (trc_next(lane->cursor, &record) == TRC_OK) {
        int64_t begin_ns = ana_time_within(ana_clock_apply(&line, record.begin));
        int64_t end_ns = ana_time_within(ana_clock_apply(&line, record.end));
        if (record.kind == TRC_RECORD_ROUND) {
            if (!find_member(state, job, lane, record.said.comm, true, &s, &m))
                continue;
            struct hvd_member *member = &state->work[s].member[m];
            struct ana_hvd_rank *rank = &state->seen.set[s].rank[m];
            member->last_kind = record.said.kind;
            if (member->first_ns == ANA_HVD_NEVER)
                member->first_ns = begin_ns;
            if (record.said.kind == TRC_ROUND_AND) {
                member->round_cycle = rank->cycles = record.said.round;
                member->round_sequence = record.sequence;
                member->held = true;
                state->seen.set[s].cache = true;
            }
            lane->set = s;
            queue_round(member, &record, begin_ns, end_ns);
            continue;
        }
        if (!record.sig || record.sig->flags & (TRC_SIG_NESTED | TRC_SIG_FAILED))
            continue;
        const struct trc_call *call = trc_call(file, record.sig->call);
        const bool control = record.sig->flags & TRC_SIG_CONTROL;
        if (record.kind == TRC_RECORD_EVENT && !control && lane->set < state->seen.sets)
            hvd_carry(&state->seen.set[lane->set], call, record.sig); /* also by communicators that are no set's */
        if (!(record.sig->flags & TRC_SIG_COLL) || !find_member(state, job, lane, record.sig->comm, false, &s, &m))
            continue;
        if (control) {
            lane->set = s;
            add_fold(&state->seen.set[s], &state->work[s], m, &record, call, end_ns,
                     ana_rounded((double)record.busy * line.rate));
        } else if (record.kind == TRC_RECORD_EVENT) {
            add_operation(&state->seen.set[s], &state->work[s], m, &record, begin_ns, end_ns);
        }
    }
}

/* Finds the threads that made control rounds, by the signatures in their live pages. */
static void find_lanes(struct ana_hvd_state *state, const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++) {
        struct trc_file *file = members->process[i].rank.file;
        for (size_t t = 0; t < trc_threads(file); t++) {
            bool known = false;
            for (size_t k = 0; k < state->lanes && !known; k++)
                known = state->lane[k].index == i && state->lane[k].thread == t;
            bool loop = !known && trc_live_controls(file, t);
            if (!loop || !ana_grow_alone(&state->lane, state->lanes, sizeof *state->lane))
                continue;
            struct trc_cursor *cursor = trc_cursor_open(file, t);
            if (!cursor)
                continue;
            trc_cursor_want_rounds(cursor);
            state->lane[state->lanes++] =
                (struct hvd_lane){.index = i, .thread = (uint32_t)t, .cursor = cursor, .set = SIZE_MAX};
        }
    }
}

/* ---- now -------------------------------------------------------------------------------------------------------- */

static bool is_loops(const struct ana_hvd *all, const struct trc_comm *comm)
{
    for (size_t s = 0; comm && s < all->sets; s++)
        if (all->set[s].comm_identity == comm->def.identity)
            return true;
    return false;
}

/* The call that a thread is inside.  Of a process that is gone, a last call that failed: it was in there until another
 * rank was gone. */
static const struct trc_sig *find_inside(const struct ana_process *process, size_t thread)
{
    const struct trc_file *file = process->rank.file;
    const struct trc_thread *live = trc_thread(file, thread);
    const struct trc_sig *last = trc_live_sig(file, thread, live->last);
    const bool until_gone = !process->alive && last && last->flags & TRC_SIG_FAILED;
    return live->inside || !until_gone ? trc_live_sig(file, thread, live->inside) : last;
}

/* Sets a member's phase by what the loop's thread is inside; cycles and their time while its FOLD still grows. */
static void look_at(const struct ana_job *job, const struct ana_hvd *all, struct ana_hvd_set *set,
                    struct hvd_work *work, size_t m)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_hvd_rank *rank = &set->rank[m];
    struct hvd_member *member = &work->member[m];
    if (!member->file)
        return;
    const struct ana_process *process = &members->process[rank->index];
    const struct ana_clock_line line = ana_clock_line(members->clock, rank->index);
    const struct trc_thread *live = trc_thread(member->file, rank->thread);
    const struct trc_sig *sig = find_inside(process, rank->thread);
    const struct trc_sig *last = trc_live_sig(member->file, rank->thread, live->last);
    uint32_t state = trc_head(member->file)->state;
    rank->alive = process->alive;
    rank->inside = sig ? trc_call(member->file, sig->call)->name : NULL;
    rank->inside_since_ns = ana_time_within(ana_clock_apply(&line, live->inside_since));
    rank->inside_bytes = sig ? sig->sent : 0;
    rank->phase = ANA_HVD_OUTSIDE;
    if (state == TRC_STATE_FINALIZED || state == TRC_STATE_ABORTED)
        rank->phase = ANA_HVD_ENDED;
    else if (sig && sig->comm == member->comm && sig->flags & TRC_SIG_CONTROL)
        rank->phase =
            trc_call(member->file, sig->call)->opclass == TRC_OP_ALLREDUCE ? ANA_HVD_ROUND : ANA_HVD_NEGOTIATING;
    else if (sig && sig->comm == member->comm)
        rank->phase = ANA_HVD_OPERATION;
    else if (sig)
        rank->phase = is_loops(all, trc_comm(member->file, sig->comm)) ? ANA_HVD_OTHER_SET : ANA_HVD_OTHER;
    if (member->held && live->inside_sequence >= member->round_sequence) {
        /* Only rounds came since the last one that was written, and each took a number. */
        uint64_t done = live->inside_sequence - member->round_sequence + !sig;
        rank->cycles = member->round_cycle + (done ? done : 1);
        if (last && last->flags & TRC_SIG_CONTROL)
            rank->cycle_ns = ana_time_within(ana_clock_apply(&line, live->last_end));
    }
    rank->ready = 0;
    for (size_t i = 0; i < TRC_ROUND_WORDS; i++)
        rank->ready += (size_t)__builtin_popcountll(i == 0 ? member->in[i] & ~7ull : member->in[i]);
    rank->main_inside = NULL;
    for (size_t t = 0; t < trc_threads(member->file); t++) {
        const struct trc_thread *other = trc_thread(member->file, t);
        const struct trc_sig *in = find_inside(process, t);
        if (t == rank->thread || !in)
            continue;
        rank->main_inside = trc_call(member->file, in->call)->name;
        rank->main_since_ns = ana_time_within(ana_clock_apply(&line, other->inside_since));
    }
}

static void mark_submitters(struct ana_hvd_set *set, const struct hvd_work *work)
{
    if (work->member[0].answered && !set->pending)
        set->rank[0].asks = false;
    for (size_t i = 0; i < set->tensors; i++) {
        struct ana_hvd_tensor *t = &set->tensor[i];
        bool cached = ana_hvd_cache_bit(&work->cache, (int32_t)i) != ANA_HVD_NO_BIT, all = true;
        if (!t->pending)
            continue;
        for (size_t m = 0; m < set->ranks; m++) {
            if (t->submitted[m] != ANA_HVD_YES)
                t->submitted[m] = set->rank[m].joined ? ANA_HVD_JOINED : ANA_HVD_NO;
            if (t->submitted[m] == ANA_HVD_NO && !work->member[m].file)
                t->submitted[m] = ANA_HVD_UNKNOWN;
            if (m > 0)
                all &= t->submitted[m] == ANA_HVD_YES || t->submitted[m] == ANA_HVD_JOINED;
        }
        /* Member 0 without a cache: its words do not even tell that it asks for something. */
        bool hidden = !cached && !all && (set->rank[0].asks || !set->cache);
        if (t->submitted[0] == ANA_HVD_NO && (hidden || set->rank[0].maybe_joined))
            t->submitted[0] = ANA_HVD_UNKNOWN;
    }
}

static void look_at_set(const struct ana_job *job, const struct ana_hvd *all, struct ana_hvd_set *set,
                        struct hvd_work *work)
{
    int64_t now_ns = INT64_MIN, first_ns = INT64_MAX;
    set->cycles = 0;
    set->rounds_ns = 0;
    for (size_t m = 0; m < set->ranks; m++) {
        look_at(job, all, set, work, m);
        if (set->rank[m].cycles > set->cycles)
            set->cycles = set->rank[m].cycles;
        if (work->member[m].file && set->rank[m].cycle_ns > now_ns)
            now_ns = set->rank[m].cycle_ns;
        if (work->member[m].first_ns != ANA_HVD_NEVER && work->member[m].first_ns < first_ns)
            first_ns = work->member[m].first_ns;
        if (work->member[m].round_ns > work->member[m].first_ns && work->member[m].first_ns != ANA_HVD_NEVER)
            set->rounds_ns += work->member[m].round_ns - work->member[m].first_ns;
    }
    mark_submitters(set, work);
    set->now_ns = ana_job_members(job)->end_ns;
    if (now_ns > first_ns)
        set->cycle_rate = (double)set->cycles / ((double)(now_ns - first_ns) / 1e9);
    if (work->sample_ns && now_ns - work->sample_ns >= SAMPLE_NS / 4)
        set->cycle_rate = (double)(set->cycles - work->sample_cycles) / ((double)(now_ns - work->sample_ns) / 1e9);
    if (now_ns - work->sample_ns >= SAMPLE_NS) {
        work->sample_ns = now_ns;
        work->sample_cycles = set->cycles;
    }
    hvd_find_library(set);
}

const struct ana_hvd *ana_job_horovod(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_hvd_state *state = ana_job_hvd_state(job);
    if (state->begun && state->generation != members->generation)
        forget_all(state);
    if (state->begun && state->refreshes == members->refreshes)
        return &state->seen;
    state->begun = true;
    state->generation = members->generation;
    state->refreshes = members->refreshes;
    find_lanes(state, job);
    int64_t horizon_ns = INT64_MAX;
    bool alive = false;
    for (size_t i = 0; i < state->lanes; i++) {
        const struct ana_process *process = &members->process[state->lane[i].index];
        read_lane(state, job, &state->lane[i]);
        alive |= process->alive;
        /* A process without a heartbeat is stopped: it holds up the other loops, but not the reading of their rounds.
         */
        if (process->alive && members->end_ns - process->heartbeat_ns < SILENT_NS && process->heartbeat_ns < horizon_ns)
            horizon_ns = process->heartbeat_ns;
    }
    for (size_t i = 0; i < state->seen.sets; i++) {
        hvd_rounds(&state->seen.set[i], &state->work[i],
                   horizon_ns == INT64_MAX ? horizon_ns : horizon_ns - HORIZON_NS);
        if (!alive && state->seen.set[i].pending == 0)
            hvd_end_step(&state->seen.set[i], &state->work[i]);
        look_at_set(job, &state->seen, &state->seen.set[i], &state->work[i]);
        hvd_find_usual(&state->seen.set[i]);
    }
    return &state->seen;
}

void ana_horovod_enter(struct ana_upper *upper)
{
    upper->horovod_new = new_state;
    upper->horovod_free = free_state;
}
