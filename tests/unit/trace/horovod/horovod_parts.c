/* Horovod's lists on hostile and whole bytes, its cache against a slow model of it, and ROUND items there and back. */
#include "tests/support/check.h"
#include "trace/horovod/horovod.h"
#include "trace/horovod/wires.h"
#include "trace/reader/reader.h"
#include "trace/format/opclass.h"
#include "trace/writer/round.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes that a real Horovod 0.28.1 sent for a network of two layers: the requests of rank 1, and the answer. */
static const char request_hex[] =
    "1000000000000000000006000800040006000000040000000400000028010000b40000006000000004000000fefeffff0000"
    "00000000f03f000000000000f03f14000000ffffffff24000000000000070100000002000000400000000000000020000000"
    "000000000000000012000000616c6c7265647563652e302e776569676874000056ffffff000000000000f03f000000000000"
    "f03f14000000ffffffff1c00000000000007010000000100000040000000000000000000000010000000616c6c7265647563"
    "652e302e6269617300000000a6ffffff000000000000f03f000000000000f03f14000000ffffffff24000000000000070100"
    "0000020000000a0000000000000040000000000000000000000012000000616c6c7265647563652e322e7765696768740000"
    "0000160028002400000023001c000000180014000c00040016000000000000000000f03f000000000000f03f14000000ffff"
    "ffff180000000000000701000000010000000a0000000000000010000000616c6c7265647563652e322e6269617300000000"
    "00";
static const char response_hex[] =
    "100000000000000000000600080004000600000004000000010000001c000000000016002c000000280020001c0018002700"
    "10000800040016000000ffffffff000000000000f03f000000000000f03f14000000340000003c000000000000073c000000"
    "040000000a0000000000000080020000000000004000000000000000000800000000000002000000ffffffffffffffff0000"
    "00000000000004000000580000003c000000200000000400000012000000616c6c7265647563652e302e7765696768740000"
    "10000000616c6c7265647563652e302e626961730000000012000000616c6c7265647563652e322e77656967687400001000"
    "0000616c6c7265647563652e322e626961730000000000";

static uint8_t bytes[1024];

static size_t from_hex(const char *hex)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        unsigned value = 0;
        sscanf(hex + 2 * i, "%2x", &value);
        bytes[i] = (uint8_t)value;
    }
    return n;
}

static uint64_t seed = 88172645463325252u;
static uint64_t any(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* ---- lists ---- */

struct seen {
    size_t n;
    char name[8][40];
    struct ana_hvd_entry entry[8];
    uint64_t sum; /* touches all that is handed out */
};

static void take(void *user, const struct ana_hvd_entry *entry)
{
    struct seen *seen = user;
    for (size_t i = 0; i < entry->name_size; i++)
        seen->sum += (uint8_t)entry->name[i];
    for (size_t i = 0; i < entry->error_size; i++)
        seen->sum += (uint8_t)entry->error[i];
    if (seen->n < 8) {
        snprintf(seen->name[seen->n], sizeof *seen->name, "%.*s", (int)entry->name_size, entry->name);
        seen->entry[seen->n] = *entry;
    }
    seen->n++;
}

static void lists(void)
{
    static const char *const names[] = {"allreduce.0.weight", "allreduce.0.bias", "allreduce.2.weight",
                                        "allreduce.2.bias"};
    static const uint64_t elements[] = {32 * 64, 64, 64 * 10, 10};
    bool shutdown = true;
    struct seen seen = {0};
    size_t n = from_hex(request_hex);
    CHECK(ana_hvd_requests(bytes, n, take, &seen, &shutdown) && !shutdown && seen.n == 4, "%zu requests", seen.n);
    for (size_t i = 0; i < 4 && seen.n == 4; i++) {
        size_t k = 0;
        while (k < 4 && strcmp(seen.name[k], names[i]))
            k++;
        CHECK(k < 4, "%s is not asked for", names[i]);
        CHECK(k == 4 || (seen.entry[k].elements == elements[i] && seen.entry[k].op == ANA_HVD_ALLREDUCE &&
                         seen.entry[k].dtype == 7),
              "%s: %llu elements", names[i], (unsigned long long)seen.entry[k & 3].elements);
    }
    seen = (struct seen){0};
    n = from_hex(response_hex);
    CHECK(ana_hvd_responses(bytes, n, take, &seen, &shutdown) && !shutdown && seen.n == 4, "%zu answers", seen.n);
    for (size_t i = 0; i < 4 && seen.n == 4; i++)
        CHECK(strcmp(seen.name[i], names[3 - i]) == 0 && seen.entry[i].elements == elements[3 - i] &&
                  seen.entry[i].devices == 2,
              "answer %zu is %s, %llu elements, %zu devices", i, seen.name[i],
              (unsigned long long)seen.entry[i].elements, seen.entry[i].devices);
}

/* Cut off anywhere, or with any bytes changed: fewer entries or others, nothing worse (the sanitizers would tell; so
 * would the copy of exactly its size). */
static void hostile(void)
{
    uint64_t sum = 0;
    for (int round = 0; round < 40000; round++) {
        bool requests = round % 2, shutdown;
        size_t n = from_hex(requests ? request_hex : response_hex);
        n = any() % 3 ? n : any() % (n + 1);
        uint8_t *exact = malloc(n + !n);
        memcpy(exact, bytes, n);
        for (uint64_t k = any() % 6; n && k > 0; k--) {
            uint32_t value = any() % 2 ? (uint32_t)any() : (uint32_t)(any() % 64);
            size_t at = any() % n;
            memcpy(exact + at, &value, n - at < 4 ? n - at : 4);
        }
        struct seen seen = {0};
        (requests ? ana_hvd_requests : ana_hvd_responses)(exact, n, take, &seen, &shutdown);
        CHECK(seen.n <= 2 * n, "%zu entries in %zu bytes", seen.n, n);
        sum += seen.sum;
        free(exact);
    }
    CHECK(sum > 0, "nothing was read at all");
}

/* ---- the cache ---- */

static int32_t model[64], model_bit[64]; /* entries by age, newest first; bit of each */
static int model_n;

static void model_touch(int at)
{
    int32_t t = model[at], b = model_bit[at];
    memmove(model + 1, model, (size_t)at * sizeof *model);
    memmove(model_bit + 1, model_bit, (size_t)at * sizeof *model_bit);
    model[0] = t;
    model_bit[0] = b;
}

static void cache(void)
{
    enum { CAPACITY = 9, TENSORS = 14 };
    static struct ana_hvd_cache c;
    ana_hvd_cache_init(&c, CAPACITY);
    int next_bit = 0, wrong = 0;
    for (int round = 0; round < 20000; round++) {
        int32_t t = (int32_t)(any() % TENSORS);
        int at = 0;
        while (at < model_n && model[at] != t)
            at++;
        if (any() % 5) { /* an answer */
            ana_hvd_cache_put(&c, t);
            if (at < model_n) {
                model_touch(at);
            } else if (model_n == CAPACITY) {
                model_touch(CAPACITY - 1);
                model[0] = t;
            } else {
                model[model_n] = t;
                model_bit[model_n] = next_bit++;
                model_touch(model_n++);
            }
        } else { /* invalid: dropped, and all numbered anew at the end of the cycle */
            if (at < model_n) {
                ana_hvd_cache_drop(&c, (uint32_t)model_bit[at]);
                memmove(model + at, model + at + 1, (size_t)(--model_n - at) * sizeof *model);
                memmove(model_bit + at, model_bit + at + 1, (size_t)(model_n - at) * sizeof *model_bit);
                next_bit = model_n;
                for (int i = 0; i < model_n; i++)
                    model_bit[i] = model_n - 1 - i;
            }
            ana_hvd_cache_end_cycle(&c);
        }
        for (int i = 0; i < model_n; i++)
            wrong += ana_hvd_cache_bit(&c, model[i]) != (uint32_t)model_bit[i];
        wrong += c.used != (uint32_t)model_n;
    }
    CHECK(wrong == 0, "%d bits differ", wrong);
}

/* ---- items ---- */

static uint64_t now = 1000000;
static uint64_t ticks(void)
{
    return now;
}

enum { ROUNDS = 60 };
static uint8_t list[TRC_ROUND_BYTES + 100]; /* longer than is kept, so that chunks fill up */

/* A list a round, and one more poll in each round.  Returns how many polls. */
static uint64_t write_rounds(struct trc_stream *stream)
{
    const struct trc_sig sig = {
        .flags = TRC_SIG_COLL | TRC_SIG_CONTROL, .comm = 6, .peer = TRC_PEER_NONE, .source = TRC_PEER_NONE};
    uint64_t rounds = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        struct trc_round said = {.kind = TRC_ROUND_REQUEST,
                                 .comm = 6,
                                 .sequence = rounds,
                                 .round = i,
                                 .part = {list, list},
                                 .size = {10, sizeof list}};
        uint32_t index = trc_stream_intern(stream, &sig);
        for (uint64_t k = 0; k <= i; k++, rounds++) {
            uint64_t begin = now += 100, end = now += 10;
            if (k == 0)
                CHECK(trc_stream_add_round(stream, begin, end, &said), "no room");
            trc_stream_fold(stream, index, begin, end);
        }
    }
    return rounds;
}

/* Does a record have the list of round `round`, which began after `polls` polls? */
static bool is_list(const struct trc_record *record, uint64_t round, uint64_t polls)
{
    const struct trc_words *w = &record->said;
    return w->round == round && record->sequence == polls && w->comm == 6 && w->size == 10 + sizeof list &&
           w->kept == TRC_ROUND_BYTES && memcmp(w->bytes, list, 10) == 0 &&
           memcmp(w->bytes + 10, list, w->kept - 10) == 0 && record->end - record->begin == 10;
}

static void read_rounds(struct trc_file *file, bool wanted, uint64_t rounds)
{
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint64_t said = 0, folded = 0, bad = 0;
    if (wanted)
        trc_cursor_want_rounds(cursor);
    while (trc_next(cursor, &record) == TRC_OK) {
        if (record.kind == TRC_RECORD_ROUND)
            bad += !is_list(&record, said++, folded);
        else if (record.kind == TRC_RECORD_FOLD)
            folded += record.count;
        else
            bad++;
    }
    CHECK(said == (wanted ? ROUNDS : 0u) && folded == rounds && bad == 0, "%llu said, %llu of %llu folded, %llu bad",
          (unsigned long long)said, (unsigned long long)folded, (unsigned long long)rounds, (unsigned long long)bad);
    trc_cursor_close(cursor);
}

static void items(void)
{
    static const struct trc_call calls[] = {{"MPI_Allreduce", TRC_OP_ALLREDUCE}};
    static struct trc_writer writer;
    char path[64], error[256];
    snprintf(path, sizeof path, "horovod-%d.hpctop", (int)getpid());
    writer.calls = calls;
    writer.call_count = 1;
    struct trc_head head = {
        .clock_source = TRC_CLOCK_MONOTONIC, .state = TRC_STATE_RUNNING, .rank = 0, .world_size = 2, .pid = 1};
    struct trc_stream *stream = calloc(1, sizeof *stream);
    if (trc_writer_open(&writer, path, 8u << 20, &head, ticks) || !trc_stream_open(stream, &writer, 17, "loop")) {
        CHECK(false, "the writer cannot write");
        return;
    }
    for (size_t i = 0; i < sizeof list; i++)
        list[i] = (uint8_t)(i * 7);
    uint64_t rounds = write_rounds(stream);
    writer.head->state = TRC_STATE_STOPPED;
    struct trc_file *file = NULL;
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_OK, "%s", error);
    if (file) {
        read_rounds(file, false, rounds);
        read_rounds(file, true, rounds);
        CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    }
    trc_close(file);
    close(writer.fd);
    free(stream);
    unlink(path);
}

int main(void)
{
    lists();
    hostile();
    cache();
    items();
    return check_result();
}
