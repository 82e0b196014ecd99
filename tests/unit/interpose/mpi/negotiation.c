/* Negotiation rounds of a background loop, as Horovod makes them, on four ranks: each rank's words and the results are
 * in its file for every round, alike on all ranks, though rounds that repeat are only counted. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/ranks.h"
#include "tests/support/recorder/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RANKS = 4, ROUNDS = 3000, WORDS = 3, SITE = 0x500000, LONGEST = 20000 };

/* Words of a call: the plan of all ranks, in order. */
struct item {
    enum trc_round_kind kind;
    uint64_t round;
    uint32_t words, bytes;
    uint64_t in[RANKS][WORDS], out[WORDS];
    uint8_t filling; /* each byte of a list; rank r has r more */
};

static struct item plan[4 * ROUNDS];
static unsigned planned;

static void combine(struct item *item)
{
    for (uint32_t i = 0; i < item->words; i++) {
        item->out[i] = item->in[0][i];
        for (int rank = 1; rank < RANKS; rank++)
            item->out[i] =
                item->kind == TRC_ROUND_AND ? item->out[i] & item->in[rank][i] : item->out[i] | item->in[rank][i];
    }
}

static void plan_round(uint64_t *state, enum trc_round_kind kind, uint64_t round, uint64_t (*words)[WORDS])
{
    struct item *item = &plan[planned++];
    *item = (struct item){.kind = kind, .round = round, .words = draw(state, 40) ? 2 : WORDS};
    for (int rank = 0; rank < RANKS; rank++) {
        if (draw(state, 20) == 0)
            words[rank][draw(state, WORDS)] ^= 1ull << draw(state, 64);
        memcpy(item->in[rank], words[rank], sizeof item->in[rank]);
    }
    combine(item);
}

static void plan_lists(uint64_t *state, uint64_t round)
{
    static const uint32_t sizes[] = {8, 8, 8, 8, 64, 65, 900, LONGEST};
    for (enum trc_round_kind kind = TRC_ROUND_REQUEST; kind <= TRC_ROUND_RESPONSE; kind++)
        plan[planned++] = (struct item){
            .kind = kind, .round = round, .bytes = sizes[draw(state, 8)], .filling = (uint8_t)(65 + draw(state, 2))};
}

/* Every round has an AND; some an OR, some a negotiation after it. */
static void make_plan(void)
{
    static uint64_t words[2][RANKS][WORDS];
    uint64_t state = 31;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        plan_round(&state, TRC_ROUND_AND, round, words[0]);
        if (draw(&state, 6) == 0)
            plan_round(&state, TRC_ROUND_OR, round, words[1]);
        if (draw(&state, 10) == 0)
            plan_lists(&state, round);
    }
}

/* ---- the loop */

static int own_rank;
static const struct item *now; /* item whose results the real functions give */

static int allreduce(w in, uint64_t *out, int n, w type, w op, w comm)
{
    (void)in, (void)n, (void)type, (void)op, (void)comm;
    memcpy(out, now->out, now->words * sizeof *out);
    return 0;
}

static int bcast(char *buffer, int n, w type, int root, w comm)
{
    (void)root, (void)comm;
    if (type == ipo_abi.byte_type)
        memset(buffer, now->filling, (size_t)n);
    return 0;
}

static void say_words(const struct item *item, uintptr_t comm)
{
    uint64_t words[WORDS];
    now = item;
    memcpy(words, item->in[own_rank], sizeof words);
    MPI(SITE, Allreduce, ipo_abi.in_place, (w)words, item->words, fake_type_predefined(8),
        item->kind == TRC_ROUND_AND ? ipo_abi.ops[TRC_REDUCTION_BAND] : ipo_abi.ops[TRC_REDUCTION_BOR], comm);
}

/* Lengths, requests, length, responses. */
static void negotiate(const struct item *request, const struct item *response, uintptr_t comm)
{
    static char list[LONGEST];
    uintptr_t integer = fake_type_predefined(4), byte = ipo_abi.byte_type;
    int length = own_rank ? (int)request->bytes : 0, lengths[RANKS];
    memset(list, request->filling + own_rank, sizeof list);
    MPI(SITE, Gather, (w)&length, 1, integer, (w)lengths, 1, integer, 0, comm);
    MPI(SITE, Gatherv, own_rank ? (w)list : 0, (w)length, byte, 0, 0, 0, byte, 0, comm);
    now = response;
    MPI(SITE, Bcast, (w)&length, 1, integer, 0, comm);
    MPI(SITE, Bcast, (w)list, response->bytes, byte, 0, comm);
}

static void *loop(void *argument)
{
    const uintptr_t comm = *(const uintptr_t *)argument;
    for (unsigned i = 0; i < planned; i++)
        if (plan[i].kind <= TRC_ROUND_OR)
            say_words(&plan[i], comm);
        else if (plan[i].kind == TRC_ROUND_REQUEST)
            negotiate(&plan[i], &plan[i + 1], comm);
    return NULL;
}

/* ---- written items */

static bool says(const struct trc_words *said, const struct item *item)
{
    uint8_t want[2 * sizeof item->out],
        filling = (uint8_t)(item->filling + (item->kind == TRC_ROUND_REQUEST ? own_rank : 0));
    size_t half = item->words * sizeof *item->out, kept = item->bytes < TRC_ROUND_BYTES ? item->bytes : TRC_ROUND_BYTES;
    if (said->kind != item->kind || said->round != item->round)
        return false;
    if (item->words) {
        memcpy(want, item->in[own_rank], half);
        memcpy(want + half, item->out, half);
        return said->size == 2 * half && said->kept == 2 * half && !memcmp(said->bytes, want, 2 * half);
    }
    for (size_t i = 0; i < said->kept; i++)
        if (said->bytes[i] != filling)
            return false;
    return said->size == item->bytes && said->kept == kept;
}

static bool repeats(const struct item *item, const struct item *last)
{
    if (!last || item->words != last->words || item->bytes != last->bytes || item->filling != last->filling)
        return false;
    size_t half = item->words * sizeof *item->out;
    return item->bytes <= 64 && !memcmp(item->in[own_rank], last->in[own_rank], half) &&
           !memcmp(item->out, last->out, half);
}

/* Each item of the plan is in the file, or equals the last of its kind. */
static void check_said(struct trc_file *file, size_t thread)
{
    const struct item *last[TRC_ROUND_RESPONSE + 1] = {NULL};
    struct trc_cursor *cursor = trc_cursor_open(file, thread);
    struct trc_record record = {.kind = TRC_RECORD_LOST};
    uint64_t polls = 0, saids = 0, calls = 0;
    trc_cursor_want_rounds(cursor);
    bool more = true;
    for (unsigned i = 0; i <= planned; i++) {
        while (more && record.kind != TRC_RECORD_ROUND && (more = trc_next(cursor, &record) == TRC_OK))
            polls += record.kind == TRC_RECORD_FOLD ? record.count : 0;
        if (i == planned)
            break;
        const struct item *item = &plan[i];
        calls += item->words ? 1 : 2; /* a list and its length */
        if (item->kind == TRC_ROUND_REQUEST && !own_rank)
            continue; /* the root has none */
        if (more && says(&record.said, item)) {
            record.kind = TRC_RECORD_LOST;
            saids++;
            last[item->kind] = item;
        }
        CHECK(repeats(item, last[item->kind]) || last[item->kind] == item, "rank %d: item %u, round %lu, is not there",
              own_rank, i, (unsigned long)item->round);
    }
    CHECK(!more, "rank %d: more was said than there was", own_rank);
    CHECK(polls == calls, "rank %d: %lu calls, %lu counted", own_rank, (unsigned long)calls, (unsigned long)polls);
    CHECK(saids < planned / 2, "rank %d: %lu of %u written", own_rank, (unsigned long)saids, planned);
    trc_cursor_close(cursor);
}

static void start(int rank)
{
    own_rank = rank;
    recorder_start(&(struct recorder_setup){
        .family = (enum fake_family)(rank % 2), .rank = rank, .size = RANKS, .concurrent = true});
    ipo_real[IPO_Allreduce] = (ipo_function)allreduce;
    ipo_real[IPO_Bcast] = (ipo_function)bcast;
}

static int all_rounds(int rank)
{
    pthread_t thread;
    start(rank);
    if (pthread_create(&thread, NULL, loop, &ipo_abi.comm_world))
        return 1;
    pthread_join(thread, NULL);
    struct trc_file *file = recorder_read();
    trc_set_final(file);
    CHECK(trc_threads(file) == 1, "%zu threads", trc_threads(file));
    check_said(file, 0);
    trc_close(file);
    recorder_remove();
    return check_result();
}

/* ---- calls that are no round */

struct seen {
    uint64_t said, control, plain;
};

static struct seen count(void)
{
    struct seen seen = {0};
    struct trc_file *file = recorder_read();
    trc_set_final(file);
    for (size_t i = 0; i < trc_threads(file); i++) {
        struct trc_cursor *cursor = trc_cursor_open(file, i);
        struct trc_record record;
        trc_cursor_want_rounds(cursor);
        while (trc_next(cursor, &record) == TRC_OK) {
            seen.said += record.kind == TRC_RECORD_ROUND;
            seen.control += record.sig && record.sig->flags & TRC_SIG_CONTROL ? record.count : 0;
            seen.plain += record.sig && !(record.sig->flags & TRC_SIG_CONTROL);
        }
        trc_cursor_close(cursor);
    }
    trc_close(file);
    return seen;
}

static void *near_misses(void *argument)
{
    static const struct item item = {.kind = TRC_ROUND_AND, .words = 1, .in = {{7}, {7}, {7}, {7}}, .out = {7}};
    static uint64_t words[TRC_ROUND_WORDS + 1];
    uintptr_t comm = ipo_abi.comm_world, wide = fake_type_predefined(8);
    (void)argument;
    now = &item;
    MPI(SITE, Allreduce, 0x1000, (w)words, 1, wide, ipo_abi.ops[TRC_REDUCTION_BAND], comm); /* not in place */
    MPI(SITE, Allreduce, ipo_abi.in_place, (w)words, 65, wide, ipo_abi.ops[TRC_REDUCTION_BAND], comm); /* too many */
    MPI(SITE, Allreduce, ipo_abi.in_place, (w)words, 1, fake_type_predefined(4), ipo_abi.ops[TRC_REDUCTION_BAND],
        comm);                                                             /* narrow */
    MPI(SITE, Allreduce, ipo_abi.in_place, (w)words, 1, wide, 0x99, comm); /* another operation */
    MPI(SITE, Bcast, (w)words, 8, ipo_abi.byte_type, 0, comm);             /* no loop is known yet */
    void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ipo_real[IPO_Allreduce] = ipo_real[IPO_Barrier]; /* call that touches nothing */
    MPI(SITE, Allreduce, ipo_abi.in_place, (w)hole, 1, wide, ipo_abi.ops[TRC_REDUCTION_BAND],
        comm); /* a device's memory */
    return NULL;
}

static int no_rounds(int rank)
{
    pthread_t thread;
    start(rank);
    const struct item item = {.kind = TRC_ROUND_AND, .words = 1};
    say_words(&item, ipo_abi.comm_world); /* made by the main thread */
    if (pthread_create(&thread, NULL, near_misses, NULL))
        return 1;
    pthread_join(thread, NULL);
    struct seen seen = count();
    CHECK(!seen.said && !seen.control && seen.plain == 7, "%lu said, %lu marked, %lu plain", (unsigned long)seen.said,
          (unsigned long)seen.control, (unsigned long)seen.plain);
    recorder_remove();
    return check_result();
}

/* A loop without a cache has no ANDs: two negotiations in a row prove it, and from the third on all is kept. */
static void *only_negotiate(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 5; i++) {
        const struct item request = {.kind = TRC_ROUND_REQUEST, .bytes = 100 + i, .filling = 70},
                          response = {.kind = TRC_ROUND_RESPONSE, .bytes = 200 + i, .filling = 71};
        negotiate(&request, &response, ipo_abi.comm_world);
    }
    return NULL;
}

static int without_cache(int rank)
{
    pthread_t thread;
    start(rank);
    if (pthread_create(&thread, NULL, only_negotiate, NULL))
        return 1;
    pthread_join(thread, NULL);
    struct seen seen = count();
    CHECK(seen.plain == 2 * 4 && seen.control == 3 * 4 && seen.said == (rank ? 6 : 3),
          "rank %d: %lu plain, %lu counted, %lu said", rank, (unsigned long)seen.plain, (unsigned long)seen.control,
          (unsigned long)seen.said);
    recorder_remove();
    return check_result();
}

int main(void)
{
    make_plan();
    CHECK(ranks_run(RANKS, all_rounds) == 0, "rounds");
    CHECK(ranks_run(RANKS, no_rounds) == 0, "what is no round");
    CHECK(ranks_run(RANKS, without_cache) == 0, "a loop without a cache");
    return check_result();
}
