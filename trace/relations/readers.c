#include "trace/relations/readers.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define BLOCKS 4u /* blocks of a part */

/* A part.  Of its blocks those between `done` and `packed` are full; who takes them holds block `done` - 1. */
struct one {
    struct ana_readers *readers;
    uint8_t *ranks; /* a byte each: whether the rank is of this part */
    pthread_t thread;
    bool has_thread, begun;
    pthread_cond_t moved;
    uint64_t packed, done;
    bool over, failed; /* no more blocks come; items are missing */
    size_t used[BLOCKS];
    struct ana_part_reader *reader;
    struct ana_part_item (*block)[ANA_PART_ITEMS];
};

struct ana_readers {
    struct trc_file **file;
    size_t files;
    const struct ana_clock *clock;
    struct ana_filter filter;
    pthread_mutex_t lock;
    bool stops;
    unsigned parts;
    struct one one[];
};

/* Packs the next block of a part. */
static void pack_block(struct one *one)
{
    const struct ana_readers *readers = one->readers;
    size_t at = one->packed % BLOCKS;
    if (!one->reader)
        one->reader = ana_part_reader_new(readers->file, readers->files, readers->clock, one->ranks, readers->filter);
    one->used[at] = one->reader ? ana_part_pack(one->reader, one->block[at]) : 0;
}

/* Signals that a block was packed; the lock is held, where there is a thread. */
static void signal_packed(struct one *one)
{
    one->over = one->used[one->packed % BLOCKS] == 0;
    one->failed = one->over && (!one->reader || ana_part_failed(one->reader));
    one->packed += !one->over;
}

static void *read_part(void *arg)
{
    struct one *one = arg;
    pthread_mutex_t *lock = &one->readers->lock;
    pthread_mutex_lock(lock);
    while (!one->over && !one->readers->stops) {
        if (one->packed - one->done >= BLOCKS - 1) {
            pthread_cond_wait(&one->moved, lock);
            continue;
        }
        pthread_mutex_unlock(lock);
        pack_block(one);
        pthread_mutex_lock(lock);
        signal_packed(one);
        pthread_cond_signal(&one->moved);
    }
    pthread_mutex_unlock(lock);
    return NULL;
}

static bool begin(void *user, struct ana_filter filter)
{
    struct ana_readers *readers = user;
    readers->filter = filter;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the others */
    for (unsigned i = 0; i < readers->parts; i++) {
        struct one *one = &readers->one[i];
        one->packed = one->done = 0;
        one->over = one->failed = false;
        one->has_thread = pthread_create(&one->thread, NULL, read_part, one) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return true;
}

static const struct ana_part_item *next(void *user, size_t part, size_t *used)
{
    struct ana_readers *readers = user;
    struct one *one = &readers->one[part];
    if (!one->has_thread && one->packed == one->done && !one->over) {
        pack_block(one);
        signal_packed(one);
    }
    pthread_mutex_lock(&readers->lock);
    while (one->packed == one->done && !one->over)
        pthread_cond_wait(&one->moved, &readers->lock);
    bool more = one->packed > one->done;
    size_t at = one->done % BLOCKS;
    one->done += more;
    bool failed = one->failed;
    pthread_cond_signal(&one->moved);
    pthread_mutex_unlock(&readers->lock);
    *used = more ? one->used[at] : 0;
    return more || !failed ? one->block[at] : NULL;
}

static void end(void *user)
{
    struct ana_readers *readers = user;
    pthread_mutex_lock(&readers->lock);
    readers->stops = true;
    for (unsigned i = 0; i < readers->parts; i++)
        pthread_cond_signal(&readers->one[i].moved);
    pthread_mutex_unlock(&readers->lock);
    for (unsigned i = 0; i < readers->parts; i++) {
        struct one *one = &readers->one[i];
        if (one->has_thread)
            pthread_join(one->thread, NULL);
        ana_part_reader_free(one->reader);
        one->reader = NULL;
    }
    readers->stops = false;
}

struct ana_readers *ana_readers_new(struct trc_file *const *files, size_t n, const struct ana_clock *clock,
                                    unsigned parts)
{
    struct ana_readers *readers = calloc(1, sizeof *readers + parts * sizeof readers->one[0]);
    if (!readers)
        return NULL;
    readers->file = malloc((n + 1) * sizeof *readers->file);
    readers->files = n;
    readers->clock = clock;
    readers->parts = parts;
    pthread_mutex_init(&readers->lock, NULL);
    uint32_t *part = malloc((n + 1) * sizeof *part);
    bool complete = part && readers->file;
    for (size_t i = 0; readers->file && i < n; i++)
        readers->file[i] = files[i];
    for (unsigned i = 0; i < parts; i++) {
        struct one *one = &readers->one[i];
        one->readers = readers;
        pthread_cond_init(&one->moved, NULL);
        one->ranks = calloc(n + 1, 1);
        one->block = malloc(BLOCKS * sizeof *one->block);
        complete = complete && one->ranks && one->block;
    }
    if (complete)
        ana_parts_divide(files, n, parts, part);
    for (size_t i = 0; complete && i < n; i++)
        readers->one[part[i]].ranks[i] = 1;
    free(part);
    if (complete)
        return readers;
    ana_readers_free(readers);
    return NULL;
}

void ana_readers_free(struct ana_readers *readers)
{
    if (!readers)
        return;
    for (unsigned i = 0; i < readers->parts; i++) {
        free(readers->one[i].ranks);
        free(readers->one[i].block);
        pthread_cond_destroy(&readers->one[i].moved);
    }
    pthread_mutex_destroy(&readers->lock);
    free(readers->file);
    free(readers);
}

struct ana_part_source ana_readers_source(struct ana_readers *readers)
{
    return (struct ana_part_source){readers, readers->parts, begin, next, end};
}
