/* A reader copies a live page while signatures give their places to others.  The page is kept as it is after each store
 * of the writer, which is stepped through; then the reader is given a page whose parts are of different instants, at
 * each pair of instants and each place where one may end.  No copy may have fewer bytes or messages than there were at
 * the first instant, nor more than at the last one. */
#include "tests/support/check.h"
#include "trace/format/opclass.h"
#include "trace/reader/reader.h"
#include "trace/writer/writer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#else
#define INSTRUMENTED 0
#endif

enum { PAGE = 2 * TRC_BLOCK, MOST = 600, SIGS = 3, EXCHANGES = 4, USES = 2, APART = 50, PLANS = 100000 };

static char folder[] = "/tmp/hpctop-torn-XXXXXX", path[128];
static struct trc_writer writer;
static struct trc_stream stream;
static const struct trc_call calls[] = {{"MPI_Sendrecv", TRC_OP_SENDRECV}};

static uint64_t ticks(void)
{
    static uint64_t now = 1000;
    return now += 10;
}

/* ---- the writer -------------------------------------------------------------------------------------------------- */

static struct trc_sig sig[SIGS];
static unsigned char (*kept)[PAGE];
static int kept_count;

static bool prepare(void)
{
    struct trc_head head = {.state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC, .world_size = 8};
    writer.calls = calls;
    writer.call_count = 1;
    if (trc_writer_open(&writer, path, 8u << 20, &head, ticks) || !trc_stream_open(&stream, &writer, 1, "main"))
        return false;
    for (int i = 0, tag = 0; i < SIGS; i++) /* all of one set */
        do
            sig[i] = (struct trc_sig){.flags = TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN,
                                      .comm = 1,
                                      .peer = 3,
                                      .source = 4,
                                      .tag = tag++,
                                      .sent = 1ull << 10 * i,
                                      .received = 3ull << 10 * i};
        while (i > 0 && trc_sig_hash(&sig[i]) != trc_sig_hash(&sig[0]));
    for (int i = 0; i < SIGS; i++)
        trc_stream_count(&stream, trc_stream_intern(&stream, &sig[i]), 10);
    return true;
}

/* Keeps the page after each instruction that changes it.  False: ptrace is not allowed here. */
static bool step_through(void)
{
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
            _exit(77);
        raise(SIGSTOP);
        for (int i = 0; i < EXCHANGES; i++) /* the one takes the place of the other */
            for (int k = 0; k < USES; k++)
                trc_stream_count(&stream, trc_stream_intern(&stream, &sig[i % 2 ? 2 : 0]), 10);
        raise(SIGSTOP);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status))
        return false;
    memcpy(kept[kept_count++], stream.page, PAGE);
    while (kept_count < MOST && ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
           waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP)
        if (memcmp(kept[kept_count - 1], stream.page, PAGE) != 0)
            memcpy(kept[kept_count++], stream.page, PAGE);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP, "ended at status %#x, %d stores", status, kept_count);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return true;
}

/* ---- the reader -------------------------------------------------------------------------------------------------- */

/* Instants of the read bytes: place[i] words are of instant i at the latest. */
static struct {
    int instant[3];
    size_t place[2], read;
    bool backwards; /* one read copies its last words first */
    uint64_t number;
} plan;

static int instant_at(size_t place)
{
    return plan.instant[place < plan.place[0] ? 0 : place < plan.place[1] ? 1 : 2];
}

/* Stands for libc's: bytes of the live page follow the plan. */
ssize_t pread(int fd, void *buffer, size_t size, off_t offset)
{
    off_t page = (off_t)((char *)stream.page - writer.base), at = offset - page;
    if (!plan.number || at < 0 || at >= PAGE)
        return syscall(SYS_pread64, fd, buffer, size, offset);
    size_t n = size < (size_t)(PAGE - at) ? size : (size_t)(PAGE - at);
    for (size_t i = 0; i < n; i += 8) {
        size_t word = plan.backwards ? (n - 1) / 8 - i / 8 : i / 8;
        memcpy((char *)buffer + i, &kept[instant_at(plan.read + word)][(size_t)at + i], n - i < 8 ? n - i : 8);
    }
    plan.read += (n + 7) / 8;
    off_t varies = (off_t)(offsetof(struct trc_page, thread) + offsetof(struct trc_thread, last_end));
    if (varies >= at && varies + 8 <= at + (off_t)n) /* no page is equal to one before, which would not be copied */
        memcpy((char *)buffer + (varies - at), &plan.number, 8);
    return (ssize_t)n;
}

enum { SENT, RECEIVED, MESSAGES_OUT, MESSAGES_IN, ROWS_SENT, ROWS_RECEIVED, PEERS_OUT, PEERS_SENT, PEERS_IN, SUMS };

static void read_sums(struct trc_file *file, uint64_t sum[SUMS])
{
    plan.number++;
    plan.read = 0;
    trc_refresh(file);
    memset(sum, 0, SUMS * sizeof *sum);
    const struct trc_thread *thread = trc_thread(file, 0);
    sum[SENT] = thread->sent;
    sum[RECEIVED] = thread->received;
    sum[MESSAGES_OUT] = thread->sent_messages;
    sum[MESSAGES_IN] = thread->received_messages;
    size_t n;
    const struct trc_counter *row = trc_rows(file, 0, &n);
    for (size_t i = 0; i < n; i++) {
        sum[ROWS_SENT] += row[i].sent;
        sum[ROWS_RECEIVED] += row[i].received;
    }
    const struct trc_peer *peer = trc_peers(file, 0, &n);
    for (size_t i = 0; i < n; i++) {
        sum[PEERS_OUT] += peer[i].sent_messages;
        sum[PEERS_SENT] += peer[i].sent_bytes;
        sum[PEERS_IN] += peer[i].received_messages;
    }
}

static uint64_t truth[MOST][SUMS];
static int wrong, looks;

static void try_plan(struct trc_file *file, int a, int b, int c, size_t first, size_t second)
{
    uint64_t sum[SUMS];
    plan.instant[0] = a;
    plan.instant[1] = b;
    plan.instant[2] = c;
    plan.place[0] = first;
    plan.place[1] = second;
    read_sums(file, sum);
    looks++;
    bool bad = false;
    for (int i = 0; i < SUMS; i++)
        bad |= sum[i] < truth[a][i] || sum[i] > truth[c][i];
    if (bad && wrong++ < 3)
        printf("instants %d, %d, %d, from word %zu and %zu on, %s: %llu bytes, there are %llu to %llu\n", a, b, c,
               first, second, plan.backwards ? "backwards" : "forwards", (unsigned long long)sum[SENT],
               (unsigned long long)truth[a][SENT], (unsigned long long)truth[c][SENT]);
}

static void test_torn(void)
{
    struct trc_file *file = NULL;
    char error[256];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK) {
        CHECK(false, "%s", error);
        return;
    }
    size_t words = 0;
    for (int i = 0; i < kept_count; i++) {
        plan.instant[0] = plan.instant[1] = plan.instant[2] = i;
        read_sums(file, truth[i]);
        words = plan.read > words ? plan.read : words;
        for (int k = 0; i > 0 && k < SUMS; k++)
            wrong += truth[i][k] < truth[i - 1][k];
    }
    CHECK(wrong == 0, "the writer's own stores let counters fall %d times", wrong);
    size_t head = 2 * sizeof(struct trc_page) / 8;
    for (int a = 0; a < kept_count; a++)
        for (int b = a + 1; b < kept_count && b < a + APART; b++)
            for (size_t place = 1; place < words; place += place < head ? 1 : 16) {
                plan.backwards = !plan.backwards;
                try_plan(file, a, b, b, place, place);
            }
    srand(1);
    for (int i = 0; i < PLANS; i++) {
        int a = rand() % kept_count, b = a + rand() % (kept_count - a), c = b + rand() % (kept_count - b);
        size_t first = (size_t)rand() % words, second = first + (size_t)rand() % (words - first + 1);
        plan.backwards = rand() % 2;
        try_plan(file, a, b, c, first, second);
    }
    printf("%d stores, %zu words, %d looks\n", kept_count, words, looks);
    CHECK(wrong == 0, "%d of %d copies are torn", wrong, looks);
    trc_close(file);
}

int main(void)
{
    if (INSTRUMENTED) {
        printf("skip torn: instrumented code takes too long to step through\n");
        return 0;
    }
    kept = calloc(MOST, sizeof *kept);
    if (!kept || !mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/trace", folder);
    if (!prepare())
        return 1;
    if (step_through())
        test_torn();
    else
        printf("skip torn: ptrace is not allowed here\n");
    free(kept);
    unlink(path);
    rmdir(folder);
    return check_result();
}
