/* OTF2, by its own library: a location a thread or stream, regions entered and left in order, messages, requests and
 * collectives as its records of MPI.  Times are job time in ns, moved so that none is negative. */
#include "trace/export/otf2_impl.h"
#include <dlfcn.h>
#include <stdlib.h>

static uint8_t before_flush(void *user, uint8_t file, uint64_t location, void *caller, bool final)
{
    (void)user, (void)file, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

/* Pieces that the library keeps of a file, each behind one of these heads. */
struct piece {
    _Alignas(16) struct piece *next;
};

/* Piece given to a location's events, one at a time: they are written when it is full. */
static void *start_piece(void *user, uint8_t file, uint64_t location, void **kept, uint64_t size)
{
    (void)user, (void)location;
    bool enough = file == OTF2_FILE_EVENTS && *kept;
    struct piece *piece = enough ? NULL : malloc(sizeof *piece + size);
    if (!piece)
        return NULL;
    piece->next = *kept;
    *kept = piece;
    return piece + 1;
}

static void release_pieces(void *user, uint8_t file, uint64_t location, void **kept, bool final)
{
    (void)user, (void)file, (void)location, (void) final;
    for (struct piece *piece = *kept, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    *kept = NULL;
}

/* The first error that the library meets is reported. */
static int note_error(void *user, const char *file, uint64_t line, const char *function, int code, const char *format,
                      va_list arguments)
{
    struct ana_exporting *x = user;
    struct otf2 *otf2 = x->own;
    (void)file, (void)line, (void)function, (void)format, (void)arguments;
    ana_export_fail(x, "cannot write %s: %s", x->path, otf2->lib.Error_GetDescription(code));
    return code;
}

static void expect(struct ana_exporting *x, int status)
{
    if (status)
        ana_export_fail(x, "cannot write %s: the OTF2 library gives up (error %d)", x->path, status);
}

static bool begin(struct ana_exporting *x)
{
    static const struct otf2_flush flush = {before_flush, NULL}; /* no records of flushes */
    static const struct otf2_memory memory = {start_piece, release_pieces};
    struct otf2 *otf2 = x->own = calloc(1, sizeof *otf2);
    if (otf2)
        otf2->lane = calloc(x->first[ana_job_ranks(x->job)] + 1, sizeof *otf2->lane);
    if (!otf2 || !otf2->lane)
        return ana_export_fail(x, "out of memory");
    ana_map_init(&otf2->regions, sizeof(struct otf2_region));
    ana_map_init(&otf2->comms, sizeof(struct otf2_comm));
    if (!ana_otf2_load(x, &otf2->lib))
        return false;
    otf2->lib.Error_RegisterCallback(note_error, x);
    for (size_t t = 0; t < x->first[ana_job_ranks(x->job)]; t++)
        otf2->lane[t].leaving = OTF2_NONE;
    otf2->shift_ns = ana_export_shift(x);
    otf2->attributes = otf2->lib.AttributeList_New();
    otf2->archive = otf2->lib.Archive_Open(x->path, "traces", OTF2_WRITE, OTF2_EVENTS, OTF2_DEFINITIONS, OTF2_POSIX,
                                           OTF2_UNCOMPRESSED);
    if (!otf2->attributes || !otf2->archive)
        return ana_export_fail(x, "cannot make an archive in %s", x->path);
    expect(x, otf2->lib.Archive_SetSerialCollectiveCallbacks(otf2->archive));
    expect(x, otf2->lib.Archive_SetFlushCallbacks(otf2->archive, &flush, NULL));
    expect(x, otf2->lib.Archive_SetMemoryCallbacks(otf2->archive, &memory, NULL));
    expect(x, otf2->lib.Archive_OpenEvtFiles(otf2->archive));
    return !x->error[0];
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Writes a record to a lane. */
#define RECORD(name, ...) expect(x, ((struct otf2 *)x->own)->lib.EvtWriter_##name(lane->writer, __VA_ARGS__))

static struct otf2_lane *lane_of(struct ana_exporting *x, const struct ana_export_thread *thread)
{
    struct otf2 *otf2 = x->own;
    struct otf2_lane *lane = &otf2->lane[thread - x->thread];
    if (!lane->writer)
        lane->writer = otf2->lib.Archive_GetEvtWriter(otf2->archive, (uint64_t)(thread - x->thread));
    if (!lane->writer)
        ana_export_fail(x, "the OTF2 library gives no writer of events");
    return lane->writer ? lane : NULL;
}

/* The time of the next record of a lane: the job time's value, but none goes back. */
static uint64_t next_time(struct otf2 *otf2, struct otf2_lane *lane, int64_t ns)
{
    uint64_t at = ns + otf2->shift_ns > 0 ? (uint64_t)(ns + otf2->shift_ns) : 0;
    lane->at = at > lane->at ? at : lane->at;
    otf2->last = lane->at > otf2->last ? lane->at : otf2->last;
    return lane->at;
}

/* Leaves the call that a lane is in, since nothing more of it comes. */
static void leave(struct ana_exporting *x, struct otf2_lane *lane)
{
    struct otf2 *otf2 = x->own;
    uint32_t region = lane->leaving;
    lane->leaving = OTF2_NONE;
    if (region == OTF2_NONE)
        return;
    lane->at = lane->leave_at > lane->at ? lane->leave_at : lane->at;
    otf2->last = lane->at > otf2->last ? lane->at : otf2->last;
    RECORD(Leave, NULL, lane->at, region);
}

/* OTF2's number for a collective; -1: it has none. */
static int operation_of(const struct trc_call *call)
{
    static const int8_t numbers[TRC_OPCLASSES] = {
        /* + 1; 0: none */
        [TRC_OP_BARRIER] = 1,         [TRC_OP_BCAST] = 2,    [TRC_OP_GATHER] = 3,     [TRC_OP_SCATTER] = 5,
        [TRC_OP_ALLGATHER] = 7,       [TRC_OP_ALLTOALL] = 9, [TRC_OP_ALLREDUCE] = 12, [TRC_OP_REDUCE] = 13,
        [TRC_OP_REDUCE_SCATTER] = 14, [TRC_OP_SCAN] = 15,    [TRC_OP_EXSCAN] = 16,    [TRC_OP_COMM_CREATE] = 18};
    const int number = (unsigned)call->opclass < TRC_OPCLASSES ? numbers[call->opclass] - 1 : -1;
    size_t n = strlen(call->name);
    while (n > 2 && strcmp(call->name + n - 2, "_c") == 0)
        n -= 2;
    const char last = n ? call->name[n - 1] : 0;
    if (number >= 2 && number <= 8) /* variants with counts, and types, of each rank */
        return number + (last == 'v' ? 1 : last == 'w' ? 2 : 0);
    if (call->opclass == TRC_OP_REDUCE_SCATTER)
        return strstr(call->name, "block") ? 16 : number;
    return number + (call->opclass == TRC_OP_COMM_CREATE && strstr(call->name, "_disconnect"));
}

/* The number of a request, one for its sending and one for its receiving part.  False: it is not known. */
static bool request_of(const struct ana_event *e, bool receives, uint64_t *out)
{
    *out = (uint64_t)e->request_thread << 48 | (e->request << 1 & 0xffffffffffff) | receives;
    return e->request != UINT64_MAX;
}

/* Bytes, 0 where they are not known. */
static uint64_t known(uint64_t bytes)
{
    return bytes == TRC_BYTES_UNKNOWN ? 0 : bytes;
}

/* The communicator of an event, and a world rank's place in it.  False: one is not known. */
static bool find_partner(struct ana_exporting *x, const struct ana_event *e, int32_t peer, uint32_t *comm,
                         uint32_t *place)
{
    size_t index = peer >= 0 || peer <= TRC_PEER_REMOTE ? ana_partner(x->job, e->index, e->use->comm, peer) : SIZE_MAX;
    *comm = ana_otf2_comm(x, e);
    *place = index == SIZE_MAX ? OTF2_NONE : ana_otf2_member(x, *comm, index);
    return *comm != OTF2_NONE && *place != OTF2_NONE;
}

/* Writes the message records that begin with an event: a send, or requests. */
static void put_starts(struct ana_exporting *x, struct otf2_lane *lane, const struct ana_event *e, uint64_t at)
{
    const struct trc_sig *sig = e->sig;
    uint32_t comm, place;
    uint64_t request;
    bool starts = sig->flags & TRC_SIG_START;
    if (sig->flags & TRC_SIG_P2P_OUT && find_partner(x, e, sig->peer, &comm, &place)) {
        if (!starts)
            RECORD(MpiSend, NULL, at, place, comm, (uint32_t)sig->tag, known(sig->sent));
        else if (request_of(e, false, &request))
            RECORD(MpiIsend, NULL, at, place, comm, (uint32_t)sig->tag, known(sig->sent), request);
    }
    if (starts && sig->flags & TRC_SIG_P2P_IN && request_of(e, true, &request))
        RECORD(MpiIrecvRequest, NULL, at, request);
    if (starts && sig->flags & TRC_SIG_COLL && operation_of(e->use->call) >= 0 && request_of(e, false, &request))
        RECORD(NonBlockingCollectiveRequest, NULL, at, request);
}

static void put_received(struct ana_exporting *x, struct otf2_lane *lane, const struct ana_event *e, uint64_t at)
{
    const struct trc_sig *sig = e->sig;
    uint32_t comm, place;
    uint64_t request;
    if (!find_partner(x, e, sig->source, &comm, &place))
        return;
    if (sig->flags & TRC_SIG_COMPLETE && request_of(e, true, &request))
        RECORD(MpiIrecv, NULL, at, place, comm, (uint32_t)sig->rtag, known(sig->received), request);
    else
        RECORD(MpiRecv, NULL, at, place, comm, (uint32_t)sig->rtag, known(sig->received));
}

/* The root of a collective in its communicator. */
static uint32_t root_of(struct ana_exporting *x, const struct ana_event *e, uint32_t comm)
{
    size_t index = trc_opclass_is_rooted(e->use->call->opclass) ? ana_export_partner(x, e) : SIZE_MAX;
    return index == SIZE_MAX ? OTF2_NONE : ana_otf2_member(x, comm, index);
}

/* Whether a request that it started belongs to a send; partitioned ones, too. */
static bool is_send(const struct trc_call *call)
{
    const enum trc_opclass is = call->opclass;
    return is == TRC_OP_ISEND || is == TRC_OP_ISSEND || is == TRC_OP_ISENDRECV || is == TRC_OP_SEND_INIT ||
           is == TRC_OP_SSEND_INIT;
}

/* Writes the records that end with an event: receives, completions. */
static void put_ends(struct ana_exporting *x, struct otf2_lane *lane, const struct ana_event *e, uint64_t at)
{
    const struct trc_sig *sig = e->sig;
    bool completes = sig->flags & TRC_SIG_COMPLETE;
    int operation = operation_of(e->use->call);
    uint64_t request;
    if (completes && sig->flags & TRC_SIG_CANCELLED) {
        if (request_of(e, sig->flags & TRC_SIG_P2P_IN, &request))
            RECORD(MpiRequestCancelled, NULL, at, request);
        return;
    }
    if (completes && !(sig->flags & TRC_SIG_P2P_IN) && is_send(e->use->call) && request_of(e, false, &request))
        RECORD(MpiIsendComplete, NULL, at, request);
    if (sig->flags & TRC_SIG_P2P_IN && !(sig->flags & TRC_SIG_START))
        put_received(x, lane, e, at);
    if (!completes || operation < 0 || sig->flags & TRC_SIG_P2P_IN || !request_of(e, false, &request))
        return;
    uint32_t comm = ana_otf2_comm(x, e);
    if (comm != OTF2_NONE)
        RECORD(NonBlockingCollectiveComplete, NULL, at, (uint8_t)operation, comm, root_of(x, e, comm), known(sig->sent),
               known(sig->received), request);
}

/* Attributes of a call: how many polls it is, bytes of one without records, its call path. */
static void *attributes_of(struct ana_exporting *x, const struct ana_event *e, bool has_records)
{
    struct otf2 *otf2 = x->own;
    uint64_t times = ana_event_times(e), sent = ana_event_sent(e->sig) * times,
             received = ana_event_received(e->sig, e->use->call->opclass) * times;
    bool polls = e->kind == TRC_RECORD_FOLD;
    if (polls)
        otf2->lib.AttributeList_AddUint64(otf2->attributes, OTF2_ATTRIBUTE_CALLS, ana_event_calls(e));
    if (!has_records && sent)
        otf2->lib.AttributeList_AddUint64(otf2->attributes, OTF2_ATTRIBUTE_SENT, sent);
    if (!has_records && received)
        otf2->lib.AttributeList_AddUint64(otf2->attributes, OTF2_ATTRIBUTE_RECEIVED, received);
    const struct ana_export_site *site = ana_export_site(x, e->index, e->sig->site);
    bool path = site && site->path;
    if (path)
        otf2->lib.AttributeList_AddStringRef(otf2->attributes, OTF2_ATTRIBUTE_PATH, OTF2_PATHS + site->number);
    return polls || path || (!has_records && (sent || received)) ? otf2->attributes : NULL;
}

static void put_call(struct ana_exporting *x, const struct ana_export_thread *thread, struct otf2_lane *lane,
                     const struct ana_event *e)
{
    struct otf2 *otf2 = x->own;
    bool collective = e->kind == TRC_RECORD_EVENT && e->sig->flags & TRC_SIG_COLL && !(e->sig->flags & TRC_SIG_START) &&
                      e->use->comm && operation_of(e->use->call) >= 0;
    bool started = e->sig->flags & TRC_SIG_START && e->sig->flags & TRC_SIG_COLL && operation_of(e->use->call) >= 0;
    bool message = e->kind == TRC_RECORD_EVENT && trc_opclass_category(e->use->call->opclass) == TRC_CAT_P2P;
    uint32_t region = ana_otf2_region(x, e), comm;
    leave(x, lane);
    uint64_t at = next_time(otf2, lane, ana_export_begin(thread, e));
    RECORD(Enter, attributes_of(x, e, collective || started || message), at, region);
    if (collective)
        RECORD(MpiCollectiveBegin, NULL, at);
    if (e->kind == TRC_RECORD_EVENT)
        put_starts(x, lane, e, at);
    lane->leaving = region;
    lane->leave_at = e->end_ns + otf2->shift_ns > 0 ? (uint64_t)(e->end_ns + otf2->shift_ns) : 0;
    if (e->kind == TRC_RECORD_EVENT && e->sig->flags & TRC_SIG_P2P_IN && !(e->sig->flags & TRC_SIG_START))
        put_received(x, lane, e, next_time(otf2, lane, e->end_ns));
    if (!collective || (comm = ana_otf2_comm(x, e)) == OTF2_NONE)
        return;
    RECORD(MpiCollectiveEnd, NULL, next_time(otf2, lane, e->end_ns), (uint8_t)operation_of(e->use->call), comm,
           root_of(x, e, comm), known(e->sig->sent), known(e->sig->received));
}

static void put_region(struct ana_exporting *x, const struct ana_export_thread *thread, struct otf2_lane *lane,
                       const struct ana_event *e)
{
    struct otf2 *otf2 = x->own;
    uint32_t left = ana_export_regions_left(thread, e);
    struct ana_event of = *e;
    leave(x, lane);
    for (uint32_t n = thread->open.depth; n > left; n--) {
        of.sequence = thread->open.id[n - 1];
        RECORD(Leave, NULL, next_time(otf2, lane, e->end_ns), ana_otf2_region(x, &of));
    }
    if (e->kind == TRC_RECORD_BEGIN && thread->open.depth < TRC_REGIONS_DEEP)
        RECORD(Enter, NULL, next_time(otf2, lane, e->begin_ns), ana_otf2_region(x, e));
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    enum ana_export_what what = ana_export_what(e);
    struct otf2_lane *lane = lane_of(x, thread);
    if (!lane || what == ANA_EXPORT_NESTED || what == ANA_EXPORT_LOST)
        return;
    if (what == ANA_EXPORT_REGION) {
        put_region(x, thread, lane, e);
    } else if (what == ANA_EXPORT_PART) {
        if (e->sig->flags & TRC_SIG_START)
            put_starts(x, lane, e, next_time(x->own, lane, e->begin_ns));
        else
            put_ends(x, lane, e, next_time(x->own, lane, e->end_ns));
    } else {
        put_call(x, thread, lane, e);
    }
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Leaves regions still open at the end: a reader wants that. */
static void leave_all(struct ana_exporting *x)
{
    struct otf2 *otf2 = x->own;
    for (size_t i = 0; i < ana_job_ranks(x->job); i++)
        for (size_t t = x->first[i]; t < x->first[i + 1]; t++) {
            struct otf2_lane *lane = &otf2->lane[t];
            struct ana_event of = {.kind = TRC_RECORD_END, .index = i};
            if (!lane->writer)
                continue;
            leave(x, lane);
            for (uint32_t n = x->thread[t].open.depth; n > 0; n--) {
                of.sequence = x->thread[t].open.id[n - 1];
                RECORD(Leave, NULL, lane->at, ana_otf2_region(x, &of));
            }
        }
}

/* Each location has a file of definitions, here an empty one, so that readers do not complain. */
static void close_lanes(struct ana_exporting *x)
{
    struct otf2 *otf2 = x->own;
    expect(x, otf2->lib.Archive_OpenDefFiles(otf2->archive));
    for (size_t t = 0; t < x->first[ana_job_ranks(x->job)]; t++) {
        void *definitions = otf2->lib.Archive_GetDefWriter(otf2->archive, t);
        if (definitions)
            expect(x, otf2->lib.Archive_CloseDefWriter(otf2->archive, definitions));
        if (lane_of(x, &x->thread[t]))
            expect(x, otf2->lib.Archive_CloseEvtWriter(otf2->archive, otf2->lane[t].writer));
    }
    expect(x, otf2->lib.Archive_CloseDefFiles(otf2->archive));
    expect(x, otf2->lib.Archive_CloseEvtFiles(otf2->archive));
}

static void describe(struct ana_exporting *x)
{
    struct otf2 *otf2 = x->own;
    struct ana_job_info info = ana_job_info(x->job);
    char text[64];
    snprintf(text, sizeof text, "%.9g", info.clock_error_s);
    expect(x, otf2->lib.Archive_SetCreator(otf2->archive, "hpctop"));
    expect(x, otf2->lib.Archive_SetDescription(otf2->archive, info.command));
    expect(x, otf2->lib.Archive_SetProperty(otf2->archive, "HPCTOP::CLOCK_ERROR_S",
                                            info.clock_error_s >= 0 ? text : "unknown", true));
    snprintf(text, sizeof text, "%lld", (long long)otf2->shift_ns);
    expect(x, otf2->lib.Archive_SetProperty(otf2->archive, "HPCTOP::JOB_TIME_0_AT_NS", text, true));
}

static void finish(struct ana_exporting *x)
{
    struct otf2 *otf2 = x->own;
    if (!otf2)
        return;
    if (otf2->archive) {
        leave_all(x);
        describe(x);
        ana_otf2_definitions(x);
        close_lanes(x);
        expect(x, otf2->lib.Archive_Close(otf2->archive));
    }
    if (otf2->attributes)
        otf2->lib.AttributeList_Delete(otf2->attributes);
    for (size_t c = 0; c < otf2->comms.count; c++)
        free(((struct otf2_comm *)ana_map_value(&otf2->comms, c))->member);
    ana_map_free(&otf2->comms);
    ana_map_free(&otf2->regions);
    if (otf2->lib.handle && otf2->lib.Error_RegisterCallback)
        otf2->lib.Error_RegisterCallback(NULL, NULL);
    if (otf2->lib.handle)
        dlclose(otf2->lib.handle);
    free(otf2->lane);
    free(otf2);
}

const struct ana_export_sink ana_export_otf2 = {
    .is = {"otf2", "otf2", "an archive for Vampir, Scalasca, ViTE and others; needs the OTF2 library", true},
    .begin = begin,
    .event = event,
    .finish = finish,
};
