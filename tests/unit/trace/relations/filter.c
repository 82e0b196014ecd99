/* A match of events between clocks finds the same whether or not a filter leaves out the others. */
#define FILES 6
#include "tests/support/clocked_files.h"
#include "tests/support/draw.h"
#include "trace/relations/match.h"
#include "trace/relations/merge.h"

#define MOST  100000
#define ASKED 16 /* requests of a thread that are open, at most */
#define HALF  7u /* a communicator of the ranks of one clock */

/* Ranks of one parity share a clock. */
static uint32_t clock_of(size_t rank)
{
    return rank % 2;
}

/* ---- random programs --------------------------------------------------------------------------------------------- */

struct request {
    struct trc_sig sig;
    uint64_t number;
    uint32_t thread;
};
struct program {
    struct tb *tb;
    size_t rank;
    bool wildcards, frees;
    struct request open[ASKED];
    size_t opened;
    uint64_t sequence[2];
    int64_t end;
};

static void begin_request(struct program *p, uint64_t *seed, uint32_t thread)
{
    bool sends = draw(seed, 2);
    struct trc_sig sig = tb_sig(sends ? TB_ISEND : TB_IRECV);
    int32_t other = (int32_t)draw(seed, FILES), tag = (int32_t)draw(seed, 2);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_START | (sends ? TRC_SIG_P2P_OUT : TRC_SIG_P2P_IN);
    if (sends) {
        sig.peer = draw(seed, 20) ? other : TRC_PEER_NULL;
        sig.tag = tag;
    } else {
        sig.source = p->wildcards && draw(seed, 4) == 0 ? TRC_PEER_ANY : other;
        sig.rtag = p->wildcards && draw(seed, 4) == 0 ? TRC_TAG_ANY : tag;
    }
    uint64_t number = tb_event(p->tb, thread, &sig, p->end, p->end + 1, (struct tb_more){0});
    p->open[p->opened++] = (struct request){sig, number, thread};
}

static void end_requests(struct program *p, uint64_t *seed, uint32_t thread)
{
    struct trc_sig call = tb_sig(p->frees && draw(seed, 5) == 0 ? TB_CANCEL : TB_WAITALL); /* CANCEL: of the class */
    tb_event(p->tb, thread, &call, p->end, p->end + 2, (struct tb_more){0});
    for (size_t n = draw(seed, (uint32_t)p->opened + 1); n > 0; n--) {
        size_t at = draw(seed, (uint32_t)p->opened);
        struct request *request = &p->open[at];
        struct trc_sig sig = request->sig;
        sig.flags = (sig.flags & ~(uint32_t)TRC_SIG_START) | TRC_SIG_COMPLETE;
        sig.source = sig.source == TRC_PEER_ANY ? (int32_t)draw(seed, FILES) : sig.source;
        sig.rtag = sig.rtag == TRC_TAG_ANY ? (int32_t)draw(seed, 2) : sig.rtag;
        tb_sub(p->tb, thread, &sig, (struct tb_more){.request = request->number, .request_thread = request->thread});
        *request = p->open[--p->opened];
    }
}

static void meet(struct program *p, uint64_t *seed, uint32_t thread)
{
    static const enum tb_call calls[] = {TB_BARRIER, TB_ALLREDUCE, TB_IALLREDUCE};
    bool half = draw(seed, 2);
    uint64_t sequence = p->sequence[half]++;
    struct trc_sig sig = tb_sig(calls[sequence % 3]);
    sig.comm = half ? HALF : TB_WORLD;
    sig.flags = TRC_SIG_COLL | (sequence % 3 == 2 ? TRC_SIG_START : 0);
    tb_event(p->tb, thread, &sig, p->end, p->end + 3, (struct tb_more){.sequence = sequence});
}

static void step(struct program *p, uint64_t *seed, uint32_t thread)
{
    struct trc_sig poll = tb_sig(TB_IPROBE), nested = tb_sig(TB_SEND);
    p->end += 3 + (int64_t)draw(seed, 4);
    nested.flags = TRC_SIG_NESTED | TRC_SIG_P2P_OUT;
    nested.comm = TB_WORLD;
    nested.peer = (int32_t)draw(seed, FILES);
    switch (draw(seed, 14)) {
    case 0:
        meet(p, seed, thread);
        return;
    case 1:
        tb_fold(p->tb, thread, &poll, p->end, p->end + 1, 3, 1);
        return;
    case 2:
        tb_event(p->tb, thread, &nested, p->end, p->end + 1, (struct tb_more){0});
        return;
    case 3:
        tb_send(p->tb, thread, p->end, p->end + 2, (int32_t)draw(seed, FILES), 0, 100);
        return;
    case 4:
        tb_recv(p->tb, thread, p->end, p->end + 2, (int32_t)draw(seed, FILES), 0, 100);
        return;
    case 5:
        if (draw(seed, 100) == 0)
            tb_lost(p->tb, thread, 3);
        return;
    default:
        if (p->opened < ASKED && draw(seed, 3))
            begin_request(p, seed, thread);
        else if (p->opened)
            end_requests(p, seed, thread);
    }
}

static void make_files(uint64_t seed)
{
    start(FILES);
    for (size_t f = 0; f < FILES; f++) {
        struct program p = {.tb = made[f], .rank = f, .wildcards = draw(&seed, 2), .frees = draw(&seed, 2)};
        int32_t members[FILES / 2];
        for (int32_t i = 0; i < FILES / 2; i++)
            members[i] = 2 * i + (int32_t)clock_of(f);
        tb_comm(made[f], HALF, 0x2000 + clock_of(f), (int32_t)f / 2, members, FILES / 2);
        for (int i = 0; i < 2000; i++) {
            step(&p, &seed, f % 3 == 2 ? (uint32_t)draw(&seed, 2) : 0);
            if (draw(&seed, 300) == 0)
                tb_next_chunk(made[f], 0);
        }
    }
    for (size_t f = 0; f < FILES; f++)
        open_file(f);
}

/* ---- findings ---------------------------------------------------------------------------------------------------- */

struct found {
    struct ana_message message[MOST];
    struct ana_arrival arrival[MOST];
    size_t messages, arrivals;
    uint64_t given, gone_through;
};
static struct found all, filtered;

static void take_message(void *user, const struct ana_message *message)
{
    struct found *found = user;
    struct ana_message *m = &found->message[found->messages++ % MOST];
    memset(m, 0, sizeof *m);
    m->source = message->source;
    m->destination = message->destination;
    m->synchronous = message->synchronous;
    m->send_begin_ns = message->send_begin_ns;
    m->send_complete_ns = message->send_complete_ns;
    m->recv_begin_ns = message->recv_begin_ns;
    m->recv_complete_ns = message->recv_complete_ns;
}

static void take_instance(void *user, const struct ana_instance *instance)
{
    struct found *found = user;
    for (size_t i = 0; i < instance->arrivals; i++)
        found->arrival[found->arrivals++ % MOST] = instance->arrival[i];
}

static void find(struct found *found, bool with_filter)
{
    memset(found, 0, sizeof *found);
    struct ana_match *match = ana_match_new((struct ana_match_sink){
        .user = found, .between_clocks = true, .on_message = take_message, .on_instance = take_instance});
    struct ana_merge *merge = ana_merge_open(file, FILES, clock_);
    for (size_t i = 0; i < FILES; i++) {
        struct ana_match_rank rank = {.rank = (int32_t)i, .finalized = true, .file = file[i], .clock = clock_of(i)};
        CHECK(ana_match_set_rank(match, i, &rank));
        ana_merge_set_live(merge, i, false);
    }
    if (with_filter)
        ana_merge_set_filter(merge, (struct ana_filter){match, ana_match_wants});
    struct ana_event *e[512];
    for (size_t n; (n = ana_merge_next_few(merge, e, 512)) > 0; found->given += n)
        for (size_t i = 0; i < n; i++)
            ana_match_event(match, e[i]);
    ana_match_flush(match);
    found->gone_through = ana_merge_count(merge);
    ana_merge_close(merge);
    ana_match_free(match);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    size_t messages = 0, arrivals = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        make_files(seed);
        find(&all, false);
        find(&filtered, true);
        CHECK(all.messages == filtered.messages && all.arrivals == filtered.arrivals, "%zu and %zu messages",
              all.messages, filtered.messages);
        CHECK(!memcmp(all.message, filtered.message, sizeof all.message), "other messages");
        CHECK(!memcmp(all.arrival, filtered.arrival, sizeof all.arrival), "other collectives");
        CHECK(filtered.given < all.given * 9 / 10 && filtered.gone_through == all.gone_through,
              "%llu of %llu items given", (unsigned long long)filtered.given, (unsigned long long)all.given);
        messages += all.messages;
        arrivals += all.arrivals;
        stop(FILES);
    }
    CHECK(messages > 1000 && arrivals > 100, "%zu messages, %zu arrivals", messages, arrivals);
    rmdir(folder);
    return check_result();
}
