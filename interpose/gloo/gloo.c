/* Record path of Gloo's collectives and messages.  PyTorch queues collectives and runs them in threads of its own, two
 * at a time.  So a collective has its place in the program, and its number in the group, from the call that queues
 * it. */
#include "interpose/gloo/gloo.h"
#include "interpose/base/safe_read.h"
#include "interpose/base/table.h"
#include "interpose/mpi/cached.h"
#include "interpose/mpi/emit.h"
#include "interpose/mpi/negotiation.h"
#include "interpose/mpi/pcontrol.h"
#include "interpose/sites/python_site.h"

#include <errno.h>

#define QUEUED 4096u /* collectives that are asked for and not yet run */

static struct place {
    uintptr_t work;
    struct ipo_comm *comm;
    const struct ipo_path *path;
    uint64_t site, sequence;
    bool numbered;
} places[QUEUED];
static atomic_uint placed;
static struct ipo_table queue; /* address of a collective -> place */

static __thread struct ipo_gloo_run *running;

static const struct row {
    enum trc_opclass opclass;
    int16_t in, out, element, root;
} rows[IPO_GLOO_CALLS] = {
#define GLOO(name, symbol, class, in, out, element, root) [IPO_GLOO_##name] = {TRC_OP_##class, in, out, element, root},
#define MESSAGE(name, symbol, class, ...)                 [IPO_GLOO_##name] = {TRC_OP_##class, 0, 0, 0, 0},
#define HOOK(name, ...)                                   [IPO_GLOO_##name] = {TRC_OP_COMM_CREATE, 0, 0, 0, 0},
#define VECTOR(at)                                        (-(at))
#include "interpose/gloo/gloo_calls.def"
#undef GLOO
#undef HOOK
};

/* ---- bytes */

/* The bytes of the buffer at this offset of the options, which has the members vtable, address, size; 0: no buffer.
 * TRC_BYTES_UNKNOWN: it does not look like one. */
static uint64_t read_size(uintptr_t options, int at, uint64_t element)
{
    uint64_t buffer, first, member[3];
    memcpy(&buffer, (const char *)options + (at < 0 ? -at : at), sizeof buffer);
    if (at < 0 && buffer) {
        if (!ipo_safe_read(buffer, &first, sizeof first))
            return TRC_BYTES_UNKNOWN;
        buffer = first;
    }
    if (!buffer)
        return 0;
    bool good = ipo_safe_read(buffer, member, sizeof member) && member[2] % element == 0 && member[2] >> 48 == 0;
    return good ? member[2] : TRC_BYTES_UNKNOWN;
}

/* Fills in bytes and root.  Options of another layout than ours have no element of 1 to 16 bytes, buffers whose sizes
 * are multiples of it, and a root of the group, all at our places: then nothing is known. */
static void describe_data(struct trc_sig *sig, const struct row *row, const struct ipo_comm *comm, uintptr_t options)
{
    uint64_t element;
    int32_t root = -1;
    memcpy(&element, (const char *)options + row->element, sizeof element);
    if (row->root)
        memcpy(&root, (const char *)options + row->root, sizeof root);
    uint64_t in = TRC_BYTES_UNKNOWN, out = TRC_BYTES_UNKNOWN;
    if (element - 1 < 16 && (!row->root || (root >= 0 && root < comm->size))) {
        in = read_size(options, row->in, element);
        out = read_size(options, row->out, element);
    }
    sig->sent = sig->received = TRC_BYTES_UNKNOWN;
    if (in == TRC_BYTES_UNKNOWN || out == TRC_BYTES_UNKNOWN)
        return;
    bool is_root = root == comm->rank;
    if (row->root)
        sig->peer = ipo_world_rank(comm, root);
    sig->received = out;
    sig->sent = in ? in : row->opclass == TRC_OP_ALLGATHER ? out / (uint64_t)comm->size : out; /* in place */
    if (row->opclass == TRC_OP_SCATTER)
        sig->sent = is_root ? in * (uint64_t)comm->size : 0;
    else if (row->opclass == TRC_OP_BCAST)
        *(is_root ? &sig->received : &sig->sent) = 0;
    else if (row->root && !is_root)
        sig->received = 0;
}

/* ---- calls */

/* Fills in path and site of a call in this thread. */
static void find_path(struct ipo_frame *frame)
{
    frame->path = NULL;
    if (*ipo_gloo_armed & IPO_ARMED_OFF)
        ipo_pcontrol_follow();
    if ((*ipo_gloo_armed & IPO_ARMED_HOW) == IPO_ARMED_CAREFULLY && ipo_process.options.python)
        frame->path = ipo_python_path(&frame->site);
    if (!frame->path) {
        frame->path = ipo_path_of(frame->site, frame->stack, frame->caller);
        frame->site = ipo_path_site(frame->path, frame->site);
    }
}

/* Begins the signature, with the place in the program. */
static void describe_place(struct ipo_frame *frame, enum ipo_gloo_id id)
{
    struct ipo_gloo_run *run = running;
    frame->comm = run && run->comm ? run->comm : frame->comm;
    if (run && run->path) {
        frame->path = run->path;
        frame->site = run->site;
    } else {
        find_path(frame);
    }
    frame->sig = ipo_plain_sig(IPO_GLOO_NUMBER(id), frame->site);
    frame->sig.path = frame->path->id;
    frame->sig.comm = frame->comm ? frame->comm->id : 0;
}

static void describe_message(struct ipo_frame *frame, enum ipo_gloo_id id, const struct ipo_gloo_message *m)
{
    struct trc_sig *sig = &frame->sig;
    const int32_t partner = m->partner < 0 ? TRC_PEER_ANY : ipo_world_rank(frame->comm, m->partner);
    describe_place(frame, id);
    if (rows[id].opclass == TRC_OP_RECV) {
        sig->source = partner;
        sig->rtag = m->tag;
        sig->received = m->bytes;
        sig->flags = TRC_SIG_P2P_IN;
    } else {
        sig->peer = partner;
        sig->tag = m->tag;
        if (rows[id].opclass == TRC_OP_SEND) {
            sig->sent = m->bytes;
            sig->flags = TRC_SIG_P2P_OUT;
        }
    }
}

static void describe(struct ipo_frame *frame, enum ipo_gloo_id id, uintptr_t options, const struct ipo_gloo_data *data)
{
    struct ipo_gloo_run *run = running;
    const bool known = frame->comm; /* the options begin with a context, as they should */
    describe_place(frame, id);
    struct ipo_comm *comm = frame->comm;
    if (known && options && rows[id].element)
        describe_data(&frame->sig, &rows[id], comm, options);
    else if (rows[id].element)
        frame->sig.sent = frame->sig.received = TRC_BYTES_UNKNOWN;
    if (data) {
        frame->sig.sent = data->sent;
        frame->sig.received = data->received;
        frame->sig.flags = data->control ? TRC_SIG_CONTROL : 0;
        if (data->root >= 0 && comm)
            frame->sig.peer = ipo_world_rank(comm, data->root);
    }
    /* PyTorch may make one collective of several calls of Gloo: the first has its number. */
    if (comm && (!run || run->numbered)) {
        frame->sig.flags |= TRC_SIG_COLL;
        frame->sequence = run ? run->sequence : __atomic_fetch_add(&comm->sequence, 1, __ATOMIC_RELAXED);
    }
    if (run)
        run->numbered = false;
}

/* Begins a call of this thread; false: it is not recorded. */
static bool begin(struct ipo_frame *frame, struct ipo_comm *comm)
{
    struct ipo_thread *thread = *ipo_gloo_armed ? ipo_thread_self() : NULL;
    if (!thread || ipo_is_inside(thread, frame))
        return false;
    frame->thread = thread;
    frame->call = NULL;
    frame->comm = comm;
    frame->sequence = 0;
    frame->poll = frame->nested = frame->failed = false;
    if (__builtin_expect(thread->outer != NULL, 0))
        ipo_call_left(thread);
    thread->outer = frame;
    thread->outer_site = ((const uint64_t *)frame->address)[IPO_FRAME_RETURN];
    return true;
}

/* Shows the call that is now described as the one that the thread is inside. */
static void show(struct ipo_frame *frame)
{
    struct ipo_thread *thread = frame->thread;
    frame->index = trc_stream_intern(&thread->stream, &frame->sig);
    struct trc_thread *live = &thread->stream.page->thread;
    live->inside_sequence = frame->sequence;
    live->inside_since = frame->begin = ipo_ticks();
    __atomic_store_n(&live->inside, frame->index + 1, __ATOMIC_RELEASE);
}

bool ipo_gloo_enter(struct ipo_frame *frame, enum ipo_gloo_id id, struct ipo_comm *comm, uintptr_t options,
                    const struct ipo_gloo_data *data)
{
    int kept = errno;
    bool begun = begin(frame, comm);
    if (begun) {
        describe(frame, id, options, data);
        show(frame);
        errno = kept;
    }
    return begun;
}

bool ipo_gloo_enter_message(struct ipo_frame *frame, enum ipo_gloo_id id, const struct ipo_gloo_message *message)
{
    int kept = errno;
    bool begun = message && begin(frame, message->comm);
    if (begun) {
        describe_message(frame, id, message);
        show(frame);
        errno = kept;
    }
    return begun;
}

void ipo_gloo_came_from(struct ipo_frame *frame, int source)
{
    struct trc_sig *sig = &frame->sig;
    if (sig->source != TRC_PEER_ANY || frame->thread != ipo_thread_current)
        return;
    sig->source = ipo_world_rank(frame->comm, source);
    sig->flags |= TRC_SIG_ANY_SOURCE;
    frame->index = trc_stream_intern(&frame->thread->stream, sig);
}

void ipo_gloo_leave(struct ipo_frame *frame, const struct ipo_gloo_round *said)
{
    frame->end = ipo_ticks();
    if (*ipo_gloo_armed && frame->thread != ipo_thread_current)
        ipo_thread_moved();
    if (!*ipo_gloo_armed || frame->thread != ipo_thread_current)
        return;
    int kept = errno;
    if (frame->failed) {
        frame->sig.flags |= TRC_SIG_FAILED;
        frame->sig.sent = frame->sig.received = 0;
    }
    if (said && said->kind) {
        *(said->is_sent ? &frame->sig.sent : &frame->sig.received) = said->size;
        if (!ipo_negotiation_write(frame, said->kind, said->bytes, said->size))
            frame->sig.flags &= ~(uint32_t)TRC_SIG_CONTROL;
    }
    if (said || frame->failed)
        frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
    frame->poll = !frame->failed && frame->sig.flags & TRC_SIG_CONTROL; /* counted into the FOLD */
    ipo_emit(frame);
    if (frame->poll)
        __atomic_store_n(&frame->thread->rounds, frame->thread->rounds + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&frame->thread->stream.page->thread.inside, 0, __ATOMIC_RELEASE);
    frame->thread->outer = NULL;
    errno = kept;
}

__thread struct ipo_gloo_call ipo_gloo_inside;

__attribute__((used)) int ipo_gloo_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
    const int in_second = 2, go_on = 8; /* the second round is when frames are left */
    struct ipo_gloo_call *inside = &ipo_gloo_inside;
    struct ipo_frame *frame = inside->frame;
    (void)version, (void)class, (void)exception, (void)context;
    if (actions & in_second && inside->nested) {
        inside->nested--;
    } else if (actions & in_second && frame) {
        inside->frame = NULL;
        frame->failed = true;
        ipo_gloo_leave(frame, NULL);
    }
    return go_on;
}

/* ---- PyTorch's queue */

void ipo_gloo_enqueue(struct ipo_frame *frame, uintptr_t group, uintptr_t work)
{
    struct ipo_comm *comm = *ipo_gloo_armed ? ipo_gloo_comm(group) : NULL;
    if (!comm || !ipo_thread_self())
        return;
    int kept = errno;
    find_path(frame);
    struct place *place = &places[atomic_fetch_add(&placed, 1) % QUEUED];
    *place = (struct place){.work = work,
                            .comm = comm,
                            .path = frame->path,
                            .site = frame->site,
                            .sequence = __atomic_fetch_add(&comm->sequence, 1, __ATOMIC_RELAXED),
                            .numbered = true};
    ipo_table_put(&queue, work, place);
    errno = kept;
}

void ipo_gloo_run_begin(struct ipo_gloo_run *run, uintptr_t work)
{
    const struct place *place = work && *ipo_gloo_armed ? ipo_table_get(&queue, work) : NULL;
    run->path = NULL;
    run->comm = NULL;
    run->numbered = false;
    if (place && place->work == work) { /* else it has been queued too long */
        run->path = place->path;
        run->comm = place->comm;
        run->site = place->site;
        run->sequence = place->sequence;
        run->numbered = place->numbered;
    }
    if (place)
        ipo_table_remove(&queue, work);
    running = run;
}

void ipo_gloo_run_end(void)
{
    running = NULL;
}
