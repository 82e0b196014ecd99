/* Digests of nodes: what the writer makes of traces is what reading these in full says, whatever their threads did; a
 * digest that is cut, spoilt or made up is refused or harmless. */
#include "tests/support/check.h"
#include "trace/reader/digest.h"
#include "trace/writer/digest.h"
#include "trace/writer/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RANKS = 5, THREADS = 3, ROUNDS = 60, CALLS = 6 };

static const struct trc_call calls[CALLS] = {{"MPI_Init", TRC_OP_INIT}, {"MPI_Isend", TRC_OP_ISEND},
                                             {"MPI_Recv", TRC_OP_RECV}, {"MPI_Barrier", TRC_OP_BARRIER},
                                             {"MPI_Test", TRC_OP_TEST}, {"MPI_Allreduce", TRC_OP_ALLREDUCE}};

static char folder[] = "/tmp/hpctop-digest-XXXXXX";
static uint64_t now = 1000000;
static uint64_t ticks(void)
{
    return now;
}

static uint32_t seed = 12345;
static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static struct rank {
    char path[128];
    struct trc_writer writer;
    struct trc_stream *stream[THREADS];
    struct trc_file *spared, *read;
} rank[RANKS];
static struct trc_digest *digest;
static struct trc_digest_head node = {.host = "node7", .boot_id = "b007"};

static void open_rank(int r)
{
    struct trc_head head = {.state = TRC_STATE_RUNNING,
                            .clock_source = TRC_CLOCK_MONOTONIC,
                            .rank = r,
                            .world_size = RANKS,
                            .pid = 100u + (uint32_t)r,
                            .pid_start = 7,
                            .host = "node7",
                            .boot_id = "b007"};
    char name[16], error[256];
    snprintf(name, sizeof name, "%d.hpctop", r);
    snprintf(rank[r].path, sizeof rank[r].path, "%s/%s", folder, name);
    rank[r].writer.calls = calls;
    rank[r].writer.call_count = CALLS;
    bool good = !trc_writer_open(&rank[r].writer, rank[r].path, 64u << 20, &head, ticks);
    for (int t = 0; good && t < 1 + r % THREADS; t++)
        good = (rank[r].stream[t] = calloc(1, sizeof **rank[r].stream)) &&
               trc_stream_open(rank[r].stream[t], &rank[r].writer, 1000u + (uint32_t)t, "t");
    good = good && trc_open(rank[r].path, &rank[r].spared, error, sizeof error) == TRC_OK &&
           trc_open(rank[r].path, &rank[r].read, error, sizeof error) == TRC_OK && trc_digest_follow(digest, name) &&
           trc_digest_follow(digest, name);
    if (!good)
        exit(printf("no trace %s\n", rank[r].path));
}

static void call(struct trc_stream *stream)
{
    struct trc_thread *live = &stream->page->thread;
    uint32_t which = random_below(CALLS);
    struct trc_sig sig = {.call = which,
                          .flags = which == 1   ? TRC_SIG_P2P_OUT
                                   : which == 2 ? TRC_SIG_P2P_IN
                                                : 0,
                          .comm = 1,
                          .peer = (int32_t)random_below(8),
                          .source = (int32_t)random_below(8),
                          .sent = random_below(4) * 100,
                          .received = random_below(400),
                          .site = 0x1000u + which};
    uint32_t index = trc_stream_intern(stream, &sig);
    now += 10 + random_below(50);
    if (random_below(6) == 0) {
        live->inside_since = now;
        live->inside_sequence = random_below(1000);
        live->inside = index + 1;
        return;
    }
    live->inside = 0;
    trc_stream_event(stream, index, now, now + 5, 0);
    trc_stream_count(stream, index, 5);
    live->last = index + 1;
    live->last_end = now += 5;
    live->completes += random_below(2);
    live->starts += random_below(2);
}

static void beat(struct rank *r)
{
    struct trc_head *head = r->writer.head;
    head->latest = (struct trc_anchor){++now, now, 1700000000000000000u + now, 3};
    head->heartbeats++;
}

static const struct trc_digest_rank *find(const struct trc_node *of, int r)
{
    for (uint32_t i = 0; i < of->head.ranks; i++)
        if (of->rank[i].pid == 100u + (uint32_t)r && of->rank[i].pid_start == 7)
            return &of->rank[i];
    return NULL;
}

static uint64_t progress_of(const struct trc_file *file)
{
    uint64_t sum = 0;
    for (size_t t = 0, n; t < trc_threads(file); t++) {
        const struct trc_counter *row = trc_rows(file, t, &n);
        for (size_t k = 0; k < n; k++)
            sum += trc_opclass_is_progress(trc_call(file, row[k].call_plus_1 - 1u)->opclass) ? row[k].calls : 0;
        sum += trc_thread(file, t)->completes;
    }
    return sum;
}

static bool is_same(const struct trc_file *a, const struct trc_file *b)
{
    bool same = trc_threads(a) == trc_threads(b) && trc_head(a)->heartbeats == trc_head(b)->heartbeats &&
                memcmp(&trc_head(a)->latest, &trc_head(b)->latest, sizeof(struct trc_anchor)) == 0;
    for (size_t t = 0; same && t < trc_threads(a); t++) {
        const struct trc_sig *mine = trc_live_sig(a, t, trc_thread(a, t)->inside),
                             *other = trc_live_sig(b, t, trc_thread(b, t)->inside);
        struct trc_thread one = *trc_thread(a, t), two = *trc_thread(b, t);
        if (!one.inside)
            one.inside_since = two.inside_since = one.inside_sequence = two.inside_sequence =
                0; /* fields of an earlier call */
        one.row_overflow = two.row_overflow = one.peer_overflow = two.peer_overflow = 0;
        same = memcmp(&one, &two, sizeof one) == 0 && !mine == !other && (!mine || !memcmp(mine, other, sizeof *mine));
    }
    return same;
}

/* All that only events tell more of. */
static uint64_t done_of(const struct trc_file *file)
{
    uint64_t sum = 0;
    for (size_t t = 0; t < trc_threads(file); t++) {
        const struct trc_thread *thread = trc_thread(file, t);
        sum += thread->sent_messages + thread->received_messages + thread->starts + thread->completes;
    }
    return sum;
}

/* A reader that mostly listens to digests and one that always reads say the same. */
static void test_same(void)
{
    uint64_t change[RANKS] = {0}, done[RANKS] = {0};
    size_t applied = 0, refused = 0, quiet = 0, bytes = 0, behind = 0;
    for (int round = 0; round < ROUNDS; round++) {
        bool moved[RANKS] = {0};
        for (int r = 0; r < RANKS; r++) {
            for (int t = 0; t < THREADS && rank[r].stream[t]; t++)
                for (uint32_t n = random_below(3) ? random_below(40) : 0; n; n--, moved[r] = true)
                    call(rank[r].stream[t]);
            beat(&rank[r]);
            trc_writer_grow(&rank[r].writer, 8);
        }
        node.sequence++;
        node.realtime_ns = 1700000000000000000u + now;
        int at = open(folder, O_RDONLY | O_DIRECTORY);
        size_t size = trc_digest_make(digest, at, &node, calls, CALLS);
        close(at);
        bytes += size;
        struct trc_node seen;
        const char *why = trc_node_parse(digest->out, size, &seen);
        CHECK(!why && seen.head.ranks == RANKS && !strcmp(seen.head.host, "node7"), "%s: %u ranks", why,
              seen.head.ranks);
        for (int r = 0; r < RANKS && !why; r++) {
            const struct trc_digest_rank *of = find(&seen, r);
            if (!of) {
                CHECK(of, "rank %d is missing", r);
                continue;
            }
            CHECK(of->flags & TRC_DIGEST_WHOLE, "rank %d is not whole in round %d", r, round);
            trc_refresh(rank[r].read);
            CHECK(of->progress == progress_of(rank[r].read), "progress %llu", (unsigned long long)of->progress);
            bool unchanged = round > 0 && of->change == change[r];
            CHECK(round == 0 || unchanged == !moved[r], "rank %d moved: %d, and its change says otherwise", r,
                  moved[r]);
            quiet += unchanged;
            if (trc_digest_apply(rank[r].spared, &seen, of, unchanged)) {
                applied++;
                CHECK(is_same(rank[r].spared, rank[r].read), "round %d: rank %d is another by its digest", round, r);
                CHECK(!unchanged || trc_complete(rank[r].spared)->ticks == trc_head(rank[r].read)->latest.ticks,
                      "rank %d is complete up to another time", r);
                CHECK(trc_behind(rank[r].spared) == (done[r] != done_of(rank[r].read)), "rank %d: behind %d", r,
                      trc_behind(rank[r].spared));
                behind += trc_behind(rank[r].spared);
            } else {
                refused++;
                trc_refresh(rank[r].spared);
                done[r] = done_of(rank[r].spared);
                CHECK(!trc_behind(rank[r].spared), "rank %d was read", r);
            }
            change[r] = of->change;
        }
        trc_node_free(&seen);
    }
    CHECK(applied > ROUNDS && quiet > ROUNDS / 4, "%zu applied, %zu refused, %zu quiet", applied, refused, quiet);
    CHECK(behind && behind < applied, "%zu of %zu behind", behind, applied);
    CHECK(bytes / ROUNDS / RANKS < 2 * 200, "%zu bytes a rank of %d threads", bytes / ROUNDS / RANKS, 2);
}

/* Definitions and the state count as changes, the heartbeat does not; a trace of another node does not belong here. */
static void test_changes(void)
{
    uint64_t before = 0;
    for (int what = 0; what < 5; what++) {
        struct trc_node seen;
        if (what == 1)
            trc_writer_define(&rank[0].writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, "k\0v", 3);
        if (what == 2)
            rank[0].writer.head->end_ticks = now;
        beat(&rank[0]);
        int at = open(folder, O_RDONLY | O_DIRECTORY);
        if (what == 4)
            memcpy(node.host, "node8", 6);
        size_t size = trc_digest_make(digest, at, &node, calls, CALLS);
        close(at);
        CHECK(!trc_node_parse(digest->out, size, &seen), "cannot be read");
        const struct trc_digest_rank *of = find(&seen, 0);
        CHECK(what == 4 ? !of && seen.head.ranks == 0 : of && (of->change == before) == (what == 3), "change %d", what);
        before = of ? of->change : 0;
        trc_node_free(&seen);
    }
    memcpy(node.host, "node7", 6);
}

/* Digests with a good checksum: any numbers are refused or can be applied. */
static void test_hostile(void)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    size_t size = trc_digest_make(digest, at, &node, calls, CALLS), taken = 0;
    close(at);
    unsigned char *bytes = malloc(size);
    struct trc_node seen;
    for (size_t cut = 0; cut < size; cut++)
        CHECK(trc_node_parse(digest->out, cut, &seen) && !seen.rank, "%zu of %zu bytes were taken", cut, size);
    for (size_t i = 0; i < size; i++) {
        memcpy(bytes, digest->out, size);
        bytes[i] ^= (unsigned char)(1 + random_below(255));
        const char *why = trc_node_parse(bytes, size, &seen);
        CHECK(why || i < offsetof(struct trc_digest_head, checksum), "byte %zu does not count", i);
        trc_node_free(&seen);
        const size_t from = offsetof(struct trc_digest_head, sequence);
        struct trc_digest_head head;
        memcpy(&head, bytes, sizeof head);
        head.checksum = trc_digest_sum(bytes + from, size - from, 0);
        memcpy(bytes, &head, sizeof head);
        why = trc_node_parse(bytes, size, &seen);
        taken += !why;
        for (uint32_t k = 0; !why && k < seen.head.ranks; k++)
            for (int r = 0; r < RANKS; r++)
                trc_digest_apply(rank[r].spared, &seen, &seen.rank[k], k % 2);
        trc_node_free(&seen);
    }
    CHECK(taken > size / 4, "%zu of %zu were taken", taken, size);
    CHECK(trc_node_read("/nonexistent/x.live", 0, &seen) && !seen.rank, "what is not there");
    CHECK(trc_node_read(folder, 0, &seen) && !seen.rank, "a folder");
    free(bytes);
}

int main(void)
{
    if (!mkdtemp(folder) || !(digest = calloc(1, sizeof *digest)))
        return 1;
    for (int r = 0; r < RANKS; r++)
        open_rank(r);
    test_same();
    test_changes();
    test_hostile();
    for (int r = 0; r < RANKS; r++) {
        trc_close(rank[r].read);
        trc_close(rank[r].spared);
        unlink(rank[r].path);
        for (int t = 0; t < THREADS; t++)
            free(rank[r].stream[t]);
    }
    free(digest);
    rmdir(folder);
    return check_result();
}
