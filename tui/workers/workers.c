#include "tui/workers/workers.h"
#include "trace/relations/clock.h"
#include "trace/index/index.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* First message of a process. */
struct hello {
    uint64_t of; /* program and files; 0: it cannot take part, and `why` says the reason */
    char host[64], why[448];
};

/* Message of the first process before each pass: `clocks` clock fits follow.  No clocks: all is over. */
struct order {
    uint64_t clocks;
};

/* Answers of the others, until `used` is 0: then damage of their files follows, as index, line, NUL. */
struct block {
    _Alignas(64) uint32_t used;
    uint32_t failed, damage_bytes;
    _Alignas(64) struct ana_part_item item[ANA_PART_ITEMS];
};

/* Another process, as the first sees it: while one block is taken apart the next may come. */
struct other {
    struct block block[2];
    struct tui_mpi_message message;
    unsigned at; /* the block that comes */
    bool over;
};

struct tui_workers {
    struct tui_mpi *mpi;
    struct ana_job *job;
    struct other other[];
};

static void send(struct tui_workers *workers, const void *bytes, size_t size, int to)
{
    struct tui_mpi_message message;
    tui_mpi_send(workers->mpi, bytes, size, to, &message);
    tui_mpi_finish(workers->mpi, &message);
}

static void receive(struct tui_workers *workers, void *bytes, size_t size, int from)
{
    struct tui_mpi_message message;
    tui_mpi_receive(workers->mpi, bytes, size, from, &message);
    tui_mpi_finish(workers->mpi, &message);
}

static size_t others(const struct tui_workers *workers)
{
    return (size_t)tui_mpi_size(workers->mpi) - 1;
}

struct tui_workers *tui_workers_new(struct tui_mpi *mpi)
{
    size_t n = tui_mpi_rank(mpi) == 0 ? (size_t)tui_mpi_size(mpi) - 1 : 1;
    size_t bytes = sizeof(struct tui_workers) + n * sizeof(struct other);
    struct tui_workers *workers = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!workers)
        return NULL;
    memset(workers, 0, sizeof *workers);
    workers->mpi = mpi;
    return workers;
}

void tui_workers_free(struct tui_workers *workers)
{
    if (!workers)
        return;
    struct order none = {0};
    for (size_t i = 0; tui_mpi_rank(workers->mpi) == 0 && i < others(workers); i++)
        send(workers, &none, sizeof none, (int)i + 1);
    free(workers);
}

/* ---- the first process ------------------------------------------------------------------------------------------- */

static void expect(struct tui_workers *workers, size_t part)
{
    struct other *other = &workers->other[part];
    tui_mpi_receive(workers->mpi, &other->block[other->at], sizeof other->block[0], (int)part + 1, &other->message);
}

static bool begin(void *user, struct ana_filter filter)
{
    (void)filter; /* it asks what the others do not know */
    struct tui_workers *workers = user;
    const struct ana_clock *clock = ana_job_files(workers->job).clock;
    struct order order = {ana_clock_domains(clock)};
    struct ana_clock_fitted *fitted = malloc(order.clocks * sizeof *fitted);
    for (size_t i = 0; fitted && i < order.clocks; i++)
        fitted[i] = ana_clock_fitted(clock, i);
    for (size_t i = 0; fitted && i < others(workers); i++) {
        send(workers, &order, sizeof order, (int)i + 1);
        send(workers, fitted, order.clocks * sizeof *fitted, (int)i + 1);
        workers->other[i].over = false;
        workers->other[i].at = 0;
        expect(workers, i);
    }
    free(fitted);
    return fitted;
}

/* Receives what another process has found damaged. */
static void receive_damage(struct tui_workers *workers, const struct block *block)
{
    struct ana_job_files files = ana_job_files(workers->job);
    const char *at = (const char *)block->item, *end = at + block->damage_bytes;
    while (at < end) {
        uint32_t index;
        memcpy(&index, at, sizeof index);
        at += sizeof index;
        trc_add_damage(files.file[index], at);
        at += strlen(at) + 1;
    }
}

static const struct ana_part_item *next(void *user, size_t part, size_t *used)
{
    struct tui_workers *workers = user;
    struct other *other = &workers->other[part];
    struct block *block = &other->block[other->at];
    *used = 0;
    if (other->over)
        return block->failed ? NULL : block->item;
    tui_mpi_finish(workers->mpi, &other->message);
    *used = block->used;
    other->over = block->used == 0;
    if (other->over) {
        receive_damage(workers, block);
        return block->failed ? NULL : block->item;
    }
    other->at = !other->at;
    expect(workers, part);
    return block->item;
}

static void end(void *user)
{
    struct tui_workers *workers = user;
    size_t used;
    for (size_t i = 0; i < others(workers); i++)
        while (!workers->other[i].over)
            next(workers, i, &used);
}

bool tui_workers_read(struct tui_workers *workers, struct ana_job *job, char *said, size_t size)
{
    uint64_t of = job ? ana_index_of(job) : 0;
    bool all = job;
    for (size_t i = 0; i < others(workers); i++) {
        struct hello hello;
        receive(workers, &hello, sizeof hello, (int)i + 1);
        if (!all || (hello.of && hello.of == of))
            continue;
        all = false;
        snprintf(said, size, "process %zu, on %s: %s", i + 1, hello.host,
                 hello.of ? "it runs another hpctop, or finds other files in this folder" : hello.why);
    }
    workers->job = job;
    struct ana_part_source source = {workers, others(workers), begin, next, end};
    if (!all)
        return false;
    snprintf(said, size, "out of memory");
    return ana_job_read_by(job, &source);
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

/* Writes the damage in files of this part into a block, as much as has room. */
static void add_damage(const struct ana_job_files *files, const uint8_t *ranks, struct block *block)
{
    char *at = (char *)block->item, *stop = at + sizeof block->item;
    const char *line;
    for (size_t i = 0; i < files->count; i++)
        for (size_t d = 0; ranks[i] && (line = trc_damage(files->file[i], d)); d++) {
            size_t length = strlen(line) + 1;
            if ((size_t)(stop - at) < sizeof(uint32_t) + length)
                break;
            memcpy(at, &(uint32_t){(uint32_t)i}, sizeof(uint32_t));
            memcpy(at + sizeof(uint32_t), line, length);
            at += sizeof(uint32_t) + length;
        }
    block->damage_bytes = (uint32_t)(at - (char *)block->item);
}

/* Sends all items of this part. */
static void send_part(struct tui_workers *workers, const struct ana_job_files *files, const uint8_t *ranks)
{
    struct other *first = &workers->other[0];
    struct ana_part_reader *reader =
        ana_part_reader_new(files->file, files->count, files->clock, ranks, (struct ana_filter){0});
    struct tui_mpi_message message[2];
    bool sent[2] = {false, false};
    unsigned at = 0;
    for (bool more = true; more; at = !at) {
        struct block *block = &first->block[at];
        if (sent[at])
            tui_mpi_finish(workers->mpi, &message[at]);
        block->damage_bytes = block->failed = 0;
        block->used = reader ? (uint32_t)ana_part_pack(reader, block->item) : 0;
        more = block->used > 0;
        if (!more) {
            block->failed = !reader || ana_part_failed(reader);
            add_damage(files, ranks, block);
        }
        size_t bytes = more ? block->used * sizeof block->item[0] : block->damage_bytes;
        tui_mpi_send(workers->mpi, block, offsetof(struct block, item) + bytes, 0, &message[at]);
        sent[at] = true;
    }
    for (at = 0; at < 2; at++)
        if (sent[at])
            tui_mpi_finish(workers->mpi, &message[at]);
    ana_part_reader_free(reader);
}

/* Receives how the clocks were fitted, which follows an order.  False: out of memory, nothing more can be understood.
 */
static bool receive_clocks(struct tui_workers *workers, struct ana_clock *clock, size_t clocks)
{
    struct ana_clock_fitted *fitted = malloc(clocks * sizeof *fitted);
    if (!fitted)
        return false;
    receive(workers, fitted, clocks * sizeof *fitted, 0);
    for (size_t i = 0; i < clocks; i++)
        ana_clock_set_fitted(clock, i, &fitted[i]);
    free(fitted);
    return true;
}

void tui_workers_serve(struct tui_workers *workers, struct ana_job *job, const char *why)
{
    struct hello hello = {.of = job ? ana_index_of(job) : 0};
    gethostname(hello.host, sizeof hello.host - 1);
    snprintf(hello.why, sizeof hello.why, "%s", job ? "its own program cannot be read" : why);
    send(workers, &hello, sizeof hello, 0);
    struct ana_job_files files = job ? ana_job_files(job) : (struct ana_job_files){0};
    uint32_t *part = malloc((files.count + 1) * sizeof *part);
    uint8_t *ranks = calloc(files.count + 1, 1);
    if (part && ranks) {
        ana_parts_divide(files.file, files.count, others(workers), part);
        for (size_t i = 0; i < files.count; i++)
            ranks[i] = part[i] == (uint32_t)tui_mpi_rank(workers->mpi) - 1;
    }
    struct order order;
    for (receive(workers, &order, sizeof order, 0); order.clocks; receive(workers, &order, sizeof order, 0)) {
        if (!part || !ranks || !receive_clocks(workers, files.clock, order.clocks))
            abort(); /* the launcher ends the others */
        send_part(workers, &files, ranks);
    }
    free(part);
    free(ranks);
}
