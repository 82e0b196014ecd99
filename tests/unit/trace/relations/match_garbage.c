/* Matching and wait states of events that no MPI ever made, as a damaged file may contain: nothing may break, and the
 * books must balance: every end is reported, unmatched, unknown, uncertain or cancelled at most once. */
#include "tests/support/message_waits.h"
#include "tests/support/match_events.h"

static void check_message(void *user, const struct ana_message *m)
{
    struct ana_wait_span span[2];
    size_t n = waits_of_message(m, span);
    for (size_t i = 0; i < n; i++)
        CHECK(span[i].begin_ns < span[i].end_ns && span[i].call, "span");
    CHECK(m->source < RANKS && m->destination < RANKS && m->send_call && m->recv_call, "message");
    ++*(uint64_t *)user;
}

static void check_instance(void *user, const struct ana_instance *in)
{
    struct ana_wait_span span[4 * RANKS];
    (void)user;
    CHECK(in->arrivals > 0 && in->arrivals <= 4 * RANKS && in->call && in->comm, "%zu arrivals", in->arrivals);
    size_t n = ana_waits_of_instance(in, span);
    CHECK(n <= in->arrivals, "%zu waits", n);
    for (size_t i = 1; i < in->arrivals; i++)
        CHECK(in->arrival[i].begin_ns >= in->arrival[i - 1].begin_ns, "sorted");
}

static void check_joined(void *user, const struct ana_joined *joined)
{
    struct ana_wait_span span;
    (void)user;
    CHECK(joined->index < 4 * RANKS && joined->needed.index < 4 * RANKS, "%zu needs %zu", joined->index,
          joined->needed.index);
    ana_late_to_begin(joined, &span);
}

static int64_t some_time(void)
{
    return rand() % 50 == 0 ? (int64_t)1e18 * (rand() % 3 - 1) : rand() % 10000;
}

/* Anything that the bytes of a file can say; it points to `sig` and `use`. */
static struct ana_event some_event(struct trc_sig *sig, struct ana_use *use, const struct trc_comm *comm)
{
    static const struct trc_call call[TRC_OPCLASSES] = {
#define OPCLASS(id, text, ...) [TRC_OP_##id] = {text, TRC_OP_##id},
#include "trace/format/opclass.def"
#undef OPCLASS
    };
    *sig = (struct trc_sig){.peer = rand() % 12 - 6, .tag = rand() % 3, .source = rand() % 12 - 6};
    sig->rtag = rand() % 4 == 0 ? (rand() % 2 ? TRC_TAG_ANY : TRC_TAG_NONE) : rand() % 3;
    for (int bit = 0; bit < 13; bit++)
        sig->flags |= rand() % 4 == 0 ? 1u << bit : 0;
    if (rand() % 3)
        sig->flags &= ~(uint32_t)(TRC_SIG_NESTED | TRC_SIG_CANCELLED);
    sig->sent = sig->received = rand() % 10 ? (uint64_t)rand() : TRC_BYTES_UNKNOWN;
    *use = (struct ana_use){.call = &call[rand() % TRC_OPCLASSES], .comm = rand() % 10 ? &comm[rand() % 4] : NULL};
    struct ana_event e = {.index = (uint32_t)(rand() % (RANKS + 1)),
                          .thread = rand() % 100 ? (uint32_t)(rand() % 3) : UINT32_MAX,
                          .kind = TRC_RECORD_EVENT,
                          .begin_ns = some_time(),
                          .end_ns = some_time(),
                          .sig = sig,
                          .use = use,
                          .sequence = (uint64_t)(rand() % 5),
                          .request_thread = (uint16_t)(rand() % 2),
                          .request = rand() % 10 ? (uint64_t)(rand() % 40) : UINT64_MAX};
    if (rand() % 200 == 0) {
        e.kind = TRC_RECORD_LOST;
        e.sig = NULL;
        e.use = NULL;
    }
    return e;
}

static void run(unsigned seed)
{
    static const int32_t members[] = {5, 4, -1, 0};
    struct trc_comm comm[4] = {
        {.def = {.identity = 1, .size = RANKS, .flags = TRC_COMM_WORLD}},
        {.def = {.identity = 1, .size = 3, .members = 4, .flags = TRC_COMM_INTER, .remote_size = -7},
         .members = members},
        {.def = {.identity = 2, .size = 2, .remote_size = 2, .members = 4, .flags = TRC_COMM_INTER},
         .members = members},
        {.def = {.identity = 3, .size = 1, .flags = TRC_COMM_SELF | TRC_COMM_FOREIGN}},
    };
    uint64_t reported = 0, ends = 0;
    srand(seed);
    struct ana_match *m = ana_match_new((struct ana_match_sink){.user = &reported,
                                                                .on_message = check_message,
                                                                .on_instance = check_instance,
                                                                .on_joined = check_joined,
                                                                .between_clocks = rand() % 2});
    for (int i = 0; i < RANKS; i++) {
        struct ana_match_rank rank = {(uint32_t)(i / 4), i % 4, rand() % 6 == 0,       rand() % 2,
                                      rand() % 4 == 0,   NULL,  (uint32_t)(rand() % 2)};
        CHECK(ana_match_set_rank(m, (size_t)i, &rank), "rank");
    }
    struct ana_match_rank absurd = {UINT32_MAX, INT32_MAX, false, false, false, NULL, 0};
    CHECK(!ana_match_set_rank(m, 3, &absurd) && !ana_match_set_rank(m, SIZE_MAX, &absurd), "out of reason");
    for (int i = 0; i < 3000; i++) {
        struct trc_sig sig;
        struct ana_use use;
        const struct ana_event e = some_event(&sig, &use, comm);
        ana_match_event(m, &e);
        ends += e.sig ? !!(sig.flags & TRC_SIG_P2P_OUT) + !!(sig.flags & TRC_SIG_P2P_IN) : 0;
        struct ana_instance open;
        size_t at = (size_t)(rand() % 3);
        if (rand() % 50 == 0 && ana_match_open_instance(m, at, &open))
            CHECK(open.comm, "open, on no communicator");
    }
    ana_match_flush(m);
    struct ana_match_counts c = ana_match_counts(m);
    uint64_t booked =
        2 * c.messages + c.unmatched_sends + c.unmatched_receives + c.unknown_peers + c.uncertain + c.cancelled;
    CHECK(c.messages == reported && booked <= ends + ends / 4, "seed %u: %llu of %llu ends booked", seed,
          (unsigned long long)booked, (unsigned long long)ends);
    ana_match_free(m);
}

int main(void)
{
    for (unsigned seed = 1; seed <= 300; seed++)
        run(seed);
    return check_result();
}
