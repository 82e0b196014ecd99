/* Signatures looked up once have short ways through the matching.  A random program goes through two matches:
 * one that keeps its look-ups, and one that has to look up every event anew.  Both must find the same. */
#include "tests/support/draw.h"
#include "tests/support/match_events.h"

enum { MEMBERS = 3, SIGNATURES = 4096, MOST = 200000, MEETINGS = 10000, OPEN = 100, TAGS = 2 };

static const struct trc_call call_isendrecv = {"MPI_Isendrecv", TRC_OP_SENDRECV};
static const struct trc_call call_meet[] = {
    {"MPI_Bcast", TRC_OP_BCAST}, {"MPI_Bcast_c", TRC_OP_BCAST}, {"MPI_Allreduce", TRC_OP_ALLREDUCE}};

/* ---- the two matches ------------------------------------------------------------------------------------------- */

struct found {
    struct ana_match *match;
    struct ana_message message[MOST];
    struct ana_instance instance[MEETINGS];
    struct ana_arrival arrival[MEETINGS][MEMBERS];
    size_t messages, instances;
};
static struct found kept, anew;

static void find(void *user, const struct ana_message *message)
{
    struct found *found = user;
    if (found->messages < MOST)
        found->message[found->messages++] = *message;
}

static void meet(void *user, const struct ana_instance *in)
{
    struct found *found = user;
    if (found->instances == MEETINGS)
        return;
    memcpy(found->arrival[found->instances], in->arrival, in->arrivals * sizeof *in->arrival);
    found->instance[found->instances++] = *in;
}

/* Whether instance i is the same in both. */
static bool same_instance(size_t i)
{
    const struct ana_instance *a = &kept.instance[i], *b = &anew.instance[i];
    return a->call == b->call && a->comm == b->comm && a->comm_identity == b->comm_identity &&
           a->sequence == b->sequence && a->mismatched == b->mismatched && a->nonblocking == b->nonblocking &&
           a->root == b->root && a->arrivals == b->arrivals &&
           memcmp(kept.arrival[i], anew.arrival[i], a->arrivals * sizeof **kept.arrival) == 0;
}

static bool same(const struct ana_message *a, const struct ana_message *b)
{
    return a->source == b->source && a->destination == b->destination && a->comm_identity == b->comm_identity &&
           a->bytes == b->bytes && a->tag == b->tag && a->synchronous == b->synchronous &&
           a->send_begin_ns == b->send_begin_ns && a->send_end_ns == b->send_end_ns &&
           a->send_wait_begin_ns == b->send_wait_begin_ns && a->send_complete_ns == b->send_complete_ns &&
           a->send_call == b->send_call && a->send_wait_call == b->send_wait_call &&
           a->recv_wait_begin_ns == b->recv_wait_begin_ns && a->recv_complete_ns == b->recv_complete_ns &&
           a->recv_call == b->recv_call && a->recv_wait_call == b->recv_wait_call &&
           a->recv_begin_ns == b->recv_begin_ns && a->send_step == b->send_step &&
           a->send_wait_step == b->send_wait_step && a->recv_step == b->recv_step &&
           a->recv_wait_step == b->recv_wait_step;
}

/* ---- the program ------------------------------------------------------------------------------------------------ */

struct request {
    struct trc_sig sig;
    uint64_t number;
    uint32_t thread;
};
struct signature {
    struct trc_sig sig;
    const struct trc_call *call;
    const struct trc_comm *comm;
    struct ana_use use;
};
/* Unusual actions of a program. */
struct habits {
    bool wildcards, threads, cancels, frees, losses, disorder;
};

static struct signature signature[SIGNATURES];
static size_t signatures;
static struct request asked[RANKS][OPEN];
static size_t open[RANKS];
static struct habits does;
static uint64_t seed, met[RANKS];
static int64_t now, begun;
static uint32_t steps;

static struct signature *signature_of(const struct trc_sig *sig, const struct trc_call *call,
                                      const struct trc_comm *comm)
{
    size_t i = 0;
    while (i < signatures &&
           (memcmp(&signature[i].sig, sig, sizeof *sig) || signature[i].call != call || signature[i].comm != comm))
        i++;
    if (i == SIGNATURES)
        return NULL;
    if (i == signatures)
        signature[signatures++] = (struct signature){*sig, call, comm, {.call = call, .comm = comm}};
    return &signature[i];
}

static void give(size_t rank, uint32_t thread, const struct trc_call *call, const struct trc_sig *sig,
                 struct request of)
{
    const struct trc_comm *comm = sig->flags & TRC_SIG_COLL ? &twin[rank] : &world[rank];
    struct signature *shared = signature_of(sig, call, comm);
    struct ana_use fresh = {.call = call, .comm = comm};
    struct ana_event event = {.index = (uint32_t)rank,
                              .thread = thread,
                              .begin_ns = begun,
                              .end_ns = now,
                              .step = steps,
                              .sig = sig,
                              .use = &fresh,
                              .sequence = met[rank],
                              .request_thread = (uint16_t)of.thread,
                              .request = of.number};
    ana_match_event(anew.match, &event);
    fresh = (struct ana_use){.call = call, .comm = comm};
    if (shared)
        event.use = &shared->use;
    ana_match_event(kept.match, &event);
}

static void lose(size_t rank)
{
    const struct ana_event event = {.index = (uint32_t)rank, .kind = TRC_RECORD_LOST};
    ana_match_event(anew.match, &event);
    ana_match_event(kept.match, &event);
}

/* A message sent, one received, or both. */
static struct trc_sig some_message(bool sends, bool receives)
{
    struct trc_sig sig = {.peer = TRC_PEER_NONE, .source = TRC_PEER_NONE};
    if (sends) {
        sig.flags |= TRC_SIG_P2P_OUT | (draw(&seed, 5) ? 0 : TRC_SIG_SYNC);
        sig.peer = (int32_t)draw(&seed, MEMBERS);
        sig.tag = (int32_t)draw(&seed, TAGS);
        sig.sent = 10 + draw(&seed, 2);
    }
    if (receives) {
        sig.flags |= TRC_SIG_P2P_IN;
        sig.source = (int32_t)draw(&seed, MEMBERS);
        sig.rtag = (int32_t)draw(&seed, TAGS);
        sig.received = 20 + draw(&seed, 2);
    }
    return sig;
}

static void ask_for(size_t rank, uint32_t thread, const struct trc_call *call, uint32_t flags)
{
    bool both = call == &call_isendrecv, sends = both || draw(&seed, 2);
    struct trc_sig sig = some_message(sends, both || !sends);
    struct request request = {.number = starts[rank][thread]++, .thread = thread};
    if (sig.flags & TRC_SIG_P2P_IN && does.wildcards && draw(&seed, 3) == 0)
        sig.source = ANY;
    if (sig.flags & TRC_SIG_P2P_IN && does.wildcards && draw(&seed, 3) == 0)
        sig.rtag = TRC_TAG_ANY;
    sig.flags |= TRC_SIG_START | flags;
    request.sig = sig;
    give(rank, thread, call, &sig, request);
    if (open[rank] < OPEN)
        asked[rank][open[rank]++] = request;
}

/* Completes an open request, as an item of the call before, or by a call of its own. */
static void complete(size_t rank, uint32_t thread, uint32_t flags)
{
    size_t at = draw(&seed, 3) ? 0 : draw(&seed, (uint32_t)open[rank]);
    struct request request = asked[rank][at];
    struct trc_sig sig = {.flags = TRC_SIG_COMPLETE | flags, .peer = TRC_PEER_NONE, .source = TRC_PEER_NONE};
    if (request.sig.flags & TRC_SIG_P2P_IN && draw(&seed, 50)) {
        sig.flags |= TRC_SIG_P2P_IN;
        sig.source = request.sig.source == ANY ? (int32_t)draw(&seed, MEMBERS) : request.sig.source;
        sig.rtag = request.sig.rtag == TRC_TAG_ANY ? (int32_t)draw(&seed, TAGS) : request.sig.rtag;
        sig.received = request.sig.received;
    }
    if (does.cancels && draw(&seed, 10) == 0)
        sig.flags |= TRC_SIG_CANCELLED;
    if (does.losses && draw(&seed, 20) == 0)
        request.number = UINT64_MAX;
    give(rank, thread, &call_wait, &sig, request);
    memmove(&asked[rank][at], &asked[rank][at + 1], (--open[rank] - at) * sizeof request);
}

static void call_without_message(size_t rank, uint32_t thread, const struct trc_call *call)
{
    const struct trc_sig sig = {.peer = TRC_PEER_NONE, .source = TRC_PEER_NONE};
    give(rank, thread, call, &sig, (struct request){.number = UINT64_MAX});
}

/* A collective, most often the one that the others call. */
static void call_collective(size_t rank, uint32_t thread)
{
    uint32_t which = draw(&seed, 40) ? met[rank] % 5 == 0 ? 2 : draw(&seed, 2) : draw(&seed, 3);
    struct trc_sig sig = {.flags = TRC_SIG_COLL, .peer = TRC_PEER_NONE, .source = TRC_PEER_NONE};
    if (which < 2)
        sig.peer = rank == 1 ? TRC_PEER_ROOT : draw(&seed, 40) ? 1 : 0;
    sig.flags |= met[rank] % 4 == 3 ? TRC_SIG_START : 0;
    struct request request = {.number = sig.flags & TRC_SIG_START ? starts[rank][thread]++ : 0, .thread = thread};
    give(rank, thread, &call_meet[which], &sig, request);
    met[rank]++;
}

static void step(void)
{
    size_t rank = draw(&seed, MEMBERS);
    uint32_t thread = does.threads ? draw(&seed, 3) : 0;
    struct trc_sig sig;
    now += draw(&seed, 3);
    begun = now - (does.disorder ? draw(&seed, 20) : 0);
    steps++;
    switch (draw(&seed, 11)) {
    case 0:
    case 1:
        sig = some_message(true, false);
        give(rank, thread, &call_send, &sig, (struct request){0});
        return;
    case 2:
    case 3:
        sig = some_message(false, true);
        give(rank, thread, &call_recv, &sig, (struct request){0});
        return;
    case 4:
        sig = some_message(true, true);
        give(rank, thread, &call_sendrecv, &sig, (struct request){0});
        return;
    case 5:
        ask_for(rank, thread, draw(&seed, 4) ? &call_isend : &call_isendrecv, 0);
        return;
    case 6:
        call_without_message(rank, thread, &call_start);
        for (uint32_t n = draw(&seed, 4); n > 0; n--)
            ask_for(rank, thread, &call_isend, TRC_SIG_SUB);
        return;
    case 7:
        if (open[rank])
            complete(rank, thread, 0);
        return;
    case 8:
        if (does.losses && draw(&seed, 100) == 0)
            lose(rank);
        return;
    case 9:
        call_collective(rank, thread);
        return;
    default:
        call_without_message(rank, thread, does.frees && draw(&seed, 4) == 0 ? &call_free : &call_wait);
        for (size_t n = draw(&seed, (uint32_t)open[rank] + 1); n > 0; n--)
            complete(rank, thread, TRC_SIG_SUB);
    }
}

/* More messages than a channel keeps, and their receives. */
static void flood(void)
{
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < ANA_MATCH_KEPT + 10; i++) {
            const struct trc_sig sig = round ? in(0, 0, 1) : out(0, 1, 1);
            begun = ++now;
            give((size_t)round, 0, round ? &call_recv : &call_send, &sig, (struct request){0});
        }
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

static void begin(struct found *found)
{
    found->match = ana_match_new((struct ana_match_sink){.user = found, .on_message = find, .on_instance = meet});
    found->messages = found->instances = 0;
    for (size_t r = 0; r < RANKS; r++) {
        struct ana_match_rank rank = {.rank = (int32_t)r, .finalized = true};
        CHECK(ana_match_set_rank(found->match, r, &rank), "rank %zu", r);
        world[r] = (struct trc_comm){.def = {.identity = 77, .rank = (int32_t)r, .size = RANKS}};
        twin[r] = (struct trc_comm){.def = {.identity = 78, .rank = (int32_t)r, .size = MEMBERS}};
    }
}

static void run(uint64_t number, bool floods)
{
    seed = number * 0x9e3779b97f4a7c15u;
    does = (struct habits){number & 1, number & 2, number & 4, number & 8, number & 16, number & 32};
    signatures = now = 0;
    memset(starts, 0, sizeof starts);
    memset(open, 0, sizeof open);
    memset(met, 0, sizeof met);
    begin(&kept);
    begin(&anew);
    for (int i = 0; i < 2000; i++) {
        step();
        if (floods && i == 1000)
            flood();
        const struct ana_match_counts a = ana_match_counts(kept.match), b = ana_match_counts(anew.match);
        CHECK(memcmp(&a, &b, sizeof a) == 0, "seed %llu: counts differ after %d steps", (unsigned long long)number, i);
    }
    size_t before = kept.messages;
    ana_match_flush(kept.match);
    ana_match_flush(anew.match);
    const struct ana_match_counts a = ana_match_counts(kept.match), b = ana_match_counts(anew.match);
    CHECK(memcmp(&a, &b, sizeof a) == 0, "seed %llu: counts differ", (unsigned long long)number);
    size_t differs = 0;
    while (differs < kept.messages && same(&kept.message[differs], &anew.message[differs]))
        differs++;
    CHECK(kept.messages == anew.messages && differs == kept.messages, "seed %llu: message %zu of %zu, %zu differs",
          (unsigned long long)number, differs, kept.messages, anew.messages);
    for (differs = 0; differs < kept.instances && same_instance(differs);)
        differs++;
    CHECK(kept.instances > 0 && kept.instances == anew.instances && differs == kept.instances,
          "seed %llu: collective %zu of %zu, %zu differs", (unsigned long long)number, differs, kept.instances,
          anew.instances);
    CHECK(kept.messages > 0 && (does.losses || before > 0), "seed %llu: no messages", (unsigned long long)number);
    ana_match_free(kept.match);
    ana_match_free(anew.match);
}

int main(void)
{
    for (uint64_t number = 0; number < 256; number++)
        run(number, number % 64 == 0);
    return check_result();
}
