/* Killed at any instruction: a process that gives the place of a signature to another one is stepped through it, and
 * after each instruction the reader must find the same bytes and messages in every counter; one that counts calls, and
 * at most one bucket of a histogram may be wrong, by one.  And while a thread gives up places all the time, no look at
 * its page may see more than there is. */
#include "tests/support/check.h"
#include "trace/reader/reader.h"
#include "trace/format/opclass.h"
#include "trace/format/uses.h"
#include "trace/writer/writer.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#else
#define INSTRUMENTED 0
#endif

static char folder[] = "/tmp/hpctop-settle-XXXXXX", path[128];
static struct trc_writer writer;
static struct trc_stream *stream;

static uint64_t ticks(void)
{
    static _Atomic uint64_t now = 1000;
    return atomic_fetch_add(&now, 10) + 10;
}

static const struct trc_call calls[] = {{"MPI_Sendrecv", TRC_OP_SENDRECV}, {"MPI_Allreduce", TRC_OP_ALLREDUCE}};

static void open_stream(void)
{
    struct trc_head head = {.state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC, .world_size = 8};
    unlink(path);
    memset(&writer, 0, sizeof writer);
    stream = calloc(1, sizeof *stream);
    writer.calls = calls;
    writer.call_count = sizeof calls / sizeof *calls;
    if (trc_writer_open(&writer, path, 8u << 20, &head, ticks) || !trc_stream_open(stream, &writer, 1, "main"))
        exit(1);
}

static struct trc_sig exchange(int32_t tag, uint64_t sent, uint64_t received)
{
    return (struct trc_sig){.flags = TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN,
                            .comm = 1,
                            .peer = 3,
                            .source = 4,
                            .tag = tag,
                            .sent = sent,
                            .received = received};
}

static void count(const struct trc_sig *sig)
{
    uint32_t index = trc_stream_intern(stream, sig);
    trc_stream_event(stream, index, ticks(), ticks(), 0);
    trc_stream_count(stream, index, 10);
}

struct sums {
    uint64_t thread[4], rows[2], out[2], in[2], one_row[2];
};

/* All counters of bytes and messages that the file has; `watched`: number of a row. */
static bool look(struct sums *sums, uint32_t watched)
{
    struct trc_file *file = NULL;
    char error[256];
    memset(sums, 0, sizeof *sums);
    if (trc_open(path, &file, error, sizeof error) != TRC_OK)
        return false;
    const struct trc_thread *thread = trc_thread(file, 0);
    uint64_t totals[4] = {thread->sent, thread->received, thread->sent_messages, thread->received_messages};
    memcpy(sums->thread, totals, sizeof totals);
    size_t n;
    const struct trc_counter *row = trc_rows(file, 0, &n);
    for (size_t i = 0; i < n; i++) {
        sums->rows[0] += row[i].sent;
        sums->rows[1] += row[i].received;
    }
    sums->one_row[0] = watched && watched <= n ? row[watched - 1].sent : 0;
    sums->one_row[1] = watched && watched <= n ? row[watched - 1].received : 0;
    const struct trc_peer *peer = trc_peers(file, 0, &n);
    for (const struct trc_peer *end = peer + n; peer < end; peer++) {
        sums->out[0] += peer->sent_messages;
        sums->out[1] += peer->sent_bytes;
        sums->in[0] += peer->received_messages;
        sums->in[1] += peer->received_bytes;
    }
    trc_close(file);
    return true;
}

/* Signatures of the same set: the third takes the place of one of the others. */
static void of_one_set(struct trc_sig *sig, unsigned n, uint32_t flags)
{
    int32_t tag = 0;
    for (unsigned i = 0; i < n; i++) {
        do {
            sig[i] = exchange(tag++, 100 + i, 70 + i);
            sig[i].flags |= flags;
        } while (i > 0 && trc_sig_hash(&sig[i]) != trc_sig_hash(&sig[0]));
    }
}

static struct trc_sig sig[3];

/* Has a child run `body`, and calls `look_at` after each of its instructions.  Returns how many there were; 0: ptrace
 * is not allowed here. */
static int step_through(void (*body)(void), void (*look_at)(void))
{
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(77);
        raise(SIGSTOP);
        body();
        raise(SIGSTOP);
        _exit(0);
    }
    int status = 0, steps = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
        printf("skip settle: ptrace is not allowed here\n");
        return 0;
    }
    for (; ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child &&
           WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
         steps++)
        look_at();
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "ended at status %#x", status);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return steps;
}

static struct sums before;
static uint32_t watched_row;
static int wrong;
static bool moved;

static void give_up_place(void)
{
    trc_stream_intern(stream, &sig[2]);
}

static void look_at_sums(void)
{
    struct sums now;
    wrong += !look(&now, watched_row) || memcmp(&now, &before, sizeof now) != 0;
    moved |= stream->page->undo.settled > 0;
}

/* `posted`: calls start requests, whose entries count arrivals. */
static void test_every_instruction(bool posted)
{
    enum { USES = 7 };
    open_stream();
    of_one_set(sig, 3, posted ? TRC_SIG_START : 0);
    moved = false;
    for (int i = 0; i < 2 * USES; i++) {
        count(&sig[i % 2]);
        stream->state[trc_stream_intern(stream, &sig[i % 2])].use->arrivals += posted;
    }
    watched_row = stream->state[trc_stream_intern(stream, &sig[0])].row->number;
    CHECK(look(&before, watched_row), "cannot be read");
    CHECK(before.thread[0] == USES * 201 && before.in[1] == USES * 141 && before.rows[0] == USES * 201,
          "before: %llu bytes", (unsigned long long)before.thread[0]);
    int steps = step_through(give_up_place, look_at_sums);
    CHECK(!steps || (moved && steps > 50), "nothing was moved in %d instructions", steps);
    CHECK(wrong == 0, "after %d of %d instructions the counters are not what they were", wrong, steps);
}

/* Calls that are counted one after the other: signature and duration. */
enum { CALLS = 5 };
static const struct {
    unsigned sig;
    uint64_t ticks;
} made[CALLS] = {{0, 10}, {1, 100000}, {0, 5000}, {0, 5000}, {1, 10}};

static void count_calls(void)
{
    for (int i = 0; i < CALLS; i++)
        trc_stream_count(stream, trc_stream_intern(stream, &sig[made[i].sig]), made[i].ticks);
}

/* Difference of the histograms that a reader finds from the histograms of the first calls, as many as their rows
 * count. */
static uint32_t distance(uint64_t *counted)
{
    uint32_t found[2][TRC_BUCKETS] = {0}, differ = 0;
    struct trc_file *file = NULL;
    char error[256];
    size_t n = 0;
    *counted = 0;
    if (trc_open(path, &file, error, sizeof error) != TRC_OK)
        return UINT32_MAX;
    const struct trc_counter *row = trc_rows(file, 0, &n);
    for (size_t i = 0; i < n && i < 2; i++) {
        *counted += row[i].calls;
        ana_counts_add_to(&row[i].histogram, found[row[i].size_class == trc_sig_class(&sig[1])]);
    }
    trc_close(file);
    for (uint64_t i = 0; i < *counted && i < CALLS; i++)
        found[made[i].sig][trc_bucket(made[i].ticks)]--;
    for (uint32_t i = 0; i < 2 * TRC_BUCKETS; i++)
        differ += (uint32_t)abs((int32_t)found[i / TRC_BUCKETS][i % TRC_BUCKETS]);
    return differ;
}

static uint32_t farthest;
static void look_at_histograms(void)
{
    uint64_t counted;
    uint32_t now = distance(&counted);
    farthest = now > farthest ? now : farthest;
}

/* The last call's bucket is counted by the reader, the others by the recorder. */
static void test_histograms(void)
{
    uint64_t counted;
    open_stream();
    sig[0] = exchange(1, 8, 8);
    sig[1] = exchange(1, 1 << 20, 1 << 20);
    int steps = step_through(count_calls, look_at_histograms);
    if (!steps)
        count_calls();
    uint32_t last = distance(&counted);
    CHECK(counted == CALLS && last == 0, "%llu calls, %u buckets are wrong", (unsigned long long)counted, last);
    CHECK(farthest <= 1, "%u buckets are wrong between two of %d instructions", farthest, steps);
}

/* More calls and sizes than there are rows: a reader adds what a signature still holds where the recorder would. */
static void test_short_of_rows(void)
{
    enum { ALL_CALLS = 12, CLASSES = 30 };
    open_stream();
    for (uint32_t call = 0; call < ALL_CALLS; call++)
        for (uint32_t class = 0; class < CLASSES; class ++) {
            struct trc_sig other = exchange((int32_t) class, 1ull << class, 0);
            other.call = call;
            count(&other);
        }
    uint64_t expected[TRC_ROWS + 1] = {0};
    for (uint32_t i = 0; i < TRC_SIGS; i++)
        if (stream->state[i].use && stream->state[i].use->uses)
            expected[stream->state[i].row->number] += stream->state[i].use->sig.sent;
    int rows = 0;
    wrong = 0;
    for (uint32_t i = 0; i < TRC_ROW_PLACES; i++) {
        const struct trc_row *row = stream->row[i];
        struct sums sums;
        rows += row != NULL;
        wrong += row && (!look(&sums, row->number) || sums.one_row[0] != expected[row->number] + row->sent);
    }
    CHECK(wrong == 0 && rows > ALL_CALLS && rows < (int)TRC_ROWS, "%d of %d rows with bytes of others", wrong, rows);
}

/* Counters take over numbers of uses that are soon full. */
static void test_full(void)
{
    enum { BIT = 31 };
    struct trc_sig posted = exchange(1, 3, 5);
    posted.flags |= TRC_SIG_START;
    open_stream();
    count(&posted);
    struct trc_use *use = stream->state[trc_stream_intern(stream, &posted)].use;
    for (use->uses = use->arrivals = 1u << (BIT - 1);; use->arrivals <<= 1) {
        struct sums sums;
        const uint32_t uses = use->uses, arrivals = use->arrivals;
        stream->page->thread.calls += 1u << 29;
        CHECK(look(&before, 0), "cannot be read");
        trc_stream_age(stream);
        CHECK(look(&sums, 0) && memcmp(&sums, &before, sizeof sums) == 0, "%u arrivals: other sums", arrivals);
        CHECK(sums.thread[1] == 5ull * arrivals && sums.in[0] == arrivals && sums.thread[0] == 3ull * uses,
              "%u arrivals: %llu bytes", arrivals, (unsigned long long)sums.thread[1]);
        CHECK((use->arrivals == 0) == (arrivals >> BIT), "%u arrivals", arrivals);
        if (!use->arrivals)
            return;
    }
}

/* Two signatures of many uses and many bytes give way to others again and again. */
static atomic_bool stop;
static void *evict(void *unused)
{
    (void)unused;
    of_one_set(sig, 3, 0);
    struct trc_sig other = exchange(1 << 20, 1, 1);
    sig[2].sent = sig[2].received = 1ull << 40; /* never counted */
    while (trc_sig_hash(&sig[2]) != trc_sig_hash(&sig[0]))
        sig[2].tag++;
    while (!atomic_load(&stop)) {
        for (int i = 0; i < 20000; i++)
            count(&sig[i & 1]);
        trc_stream_intern(stream, &sig[2]);
        for (int i = 0; i < 20000; i++)
            count(&other);
    }
    return NULL;
}

static void test_looked_at_meanwhile(void)
{
    open_stream();
    pthread_t thread;
    pthread_create(&thread, NULL, evict, NULL);
    uint64_t last = 0;
    int fell = 0, grew = 0;
    while (grew < 300) {
        struct sums sums;
        if (!look(&sums, 0))
            continue;
        grew += sums.thread[0] > last;
        fell += sums.thread[0] < last || sums.thread[0] >> 40;
        last = sums.thread[0];
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    CHECK(fell == 0, "bytes fell or leapt %d times", fell);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/trace", folder);
    test_short_of_rows();
    test_full();
    if (INSTRUMENTED)
        printf("skip settle: instrumented code takes too long to step through\n");
    if (!INSTRUMENTED) {
        test_every_instruction(false);
        test_every_instruction(true);
        test_histograms();
        test_looked_at_meanwhile();
    }
    unlink(path);
    rmdir(folder);
    return check_result();
}
