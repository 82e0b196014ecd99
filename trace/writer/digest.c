#include "trace/writer/digest.h"
#include "trace/format/encode.h"
#include "trace/format/uses.h"
#include "trace/writer/system.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define HEADS_A_LOOK 64u   /* chunks that are looked at for the first time */
#define STUCK_LOOKS  3u    /* looks after which a block that begins no chunk is stepped over */
#define NEW_LOOKS    16u   /* after chunks were recycled, until all are looked at anew */
#define RANK_MOST    1536u /* bytes of one, at most */
_Static_assert(RANK_MOST >= (15 + 16 * TRC_DIGEST_THREADS) * TRC_VARINT_MAX, "a rank has room");

/* A trace while it is read. */
struct look {
    int fd;
    struct trc_head head;
    uint64_t change;
    uint32_t pages, pieces, wanted; /* pages, further pieces, and the number of pieces they announce */
    const struct trc_call *calls;
    size_t call_count;
    /* First block of the page of each thread in trc_digest.rank, and trc_undo.settled before it was read. */
    uint32_t block[TRC_DIGEST_THREADS];
    uint64_t steps[TRC_DIGEST_THREADS];
};

bool trc_digest_follow(struct trc_digest *digest, const char *name)
{
    size_t n = strlen(name);
    if (n >= TRC_FOLLOWED_NAME)
        return false;
    for (uint32_t i = 0; i < digest->files; i++)
        if (strcmp(digest->file[i].name, name) == 0)
            return true;
    if (digest->files == TRC_DIGEST_RANKS)
        return false;
    struct trc_followed *file = &digest->file[digest->files++];
    *file = (struct trc_followed){0};
    memcpy(file->name, name, n + 1);
    return true;
}

/* ---- chunks ----------------------------------------------------------------------------------------------------- */

static bool read_at(const struct look *look, uint32_t block, void *to, size_t size)
{
    off_t at = (off_t)(look->head.chunks_offset + (uint64_t)block * TRC_BLOCK);
    return trc_sys_read_at(look->fd, to, size, at) == (ssize_t)size;
}

/* Reads how many steps of exchanges the writer of a live page has begun. */
static bool read_steps(const struct look *look, uint32_t block, uint64_t *steps)
{
    size_t at = offsetof(struct trc_page, undo) + offsetof(struct trc_undo, settled);
    atomic_thread_fence(memory_order_acquire);
    bool there =
        trc_sys_read_at(look->fd, steps, sizeof *steps,
                        (off_t)(look->head.chunks_offset + (uint64_t)block * TRC_BLOCK + at)) == (ssize_t)sizeof *steps;
    atomic_thread_fence(memory_order_acquire);
    return there;
}

static bool is_followed(uint8_t kind)
{
    return kind == TRC_CHUNK_THREAD || kind == TRC_CHUNK_PAGE || kind == TRC_CHUNK_DEFS || kind == TRC_CHUNK_STACKS;
}

/* Finds chunks that are new since the last look. */
static void find_chunks(struct trc_followed *file, const struct look *look)
{
    uint32_t used =
        look->head.blocks_used < look->head.blocks_allocated ? look->head.blocks_used : look->head.blocks_allocated;
    for (uint32_t n = 0; n < HEADS_A_LOOK && file->next < used; n++) {
        struct trc_chunk chunk;
        bool there = read_at(look, file->next, &chunk, sizeof chunk) && chunk.magic == TRC_CHUNK_MAGIC &&
                     chunk.block == file->next && chunk.blocks && chunk.blocks <= TRC_CHUNK_MOST;
        if (!there && file->stuck++ < STUCK_LOOKS)
            return; /* handed out just now */
        file->stuck = 0;
        file->next += there ? chunk.blocks : 1;
        file->more |= there && chunk.kind == TRC_CHUNK_GPU;
        if (!there || !is_followed(chunk.kind))
            continue;
        if (file->chunks == TRC_FOLLOWED_CHUNKS) {
            file->more = true;
            continue;
        }
        file->chunk[file->chunks].block = chunk.block;
        file->chunk[file->chunks].blocks = (uint8_t)chunk.blocks;
        file->chunk[file->chunks].kind = chunk.kind;
        file->chunk[file->chunks++].thread = chunk.thread;
    }
}

/* ---- live pages -------------------------------------------------------------------------------------------------- */

/* The class of a signature, + 1; 0: there is no place for another. */
static uint32_t class_of(struct trc_digest *digest, struct trc_sig sig)
{
    sig.site = 0;
    sig.object = 0;
    for (uint32_t i = 0; i < digest->classes; i++)
        if (memcmp(&digest->class[i].sig, &sig, sizeof sig) == 0) {
            digest->class[i].threads++;
            return i + 1;
        }
    if (digest->classes == TRC_DIGEST_CLASSES)
        return 0;
    digest->class[digest->classes++] = (struct trc_digest_class){1, sig};
    return digest->classes;
}

/* Adds up the entries of a page or a piece of one. */
static void add_entries(struct trc_digest *digest, const struct look *look, struct trc_digest_thread *of, size_t at,
                        size_t end)
{
    struct trc_thread *thread = &of->thread;
    while (at + sizeof(uint16_t) <= end) {
        union {
            uint16_t what;
            struct trc_use use;
            struct trc_row row;
        } entry;
        memcpy(&entry.what, digest->page + at, sizeof entry.what);
        size_t size = entry.what == TRC_ENTRY_USE    ? sizeof entry.use
                      : entry.what == TRC_ENTRY_ROW  ? sizeof entry.row
                      : entry.what == TRC_ENTRY_PEER ? sizeof(struct trc_peer)
                                                     : 0;
        if (!size || size > end - at)
            return;
        if (entry.what == TRC_ENTRY_USE) {
            memcpy(&entry, digest->page + at, size);
            const struct trc_moved moved = trc_moved_by(&entry.use);
            trc_add_moved(thread, NULL, NULL, NULL, &moved);
            if (thread->inside == entry.use.index + 1u)
                of->class = class_of(digest, entry.use.sig);
        } else if (entry.what == TRC_ENTRY_ROW) {
            memcpy(&entry, digest->page + at, size - sizeof entry.row.histogram);
            uint32_t call = entry.row.call_plus_1 - 1u;
            if (call < look->call_count && trc_opclass_is_progress(look->calls[call].opclass))
                digest->rank.progress += entry.row.calls;
        }
        at += size;
    }
}

/* Adds the page of a thread, whose bytes are digest->page; `block`, `steps`: as in struct look.  False: it cannot be
 * relied on. */
static bool add_page(struct trc_digest *digest, struct look *look, uint32_t block, uint64_t steps, size_t size)
{
    struct trc_page page;
    memcpy(&page, digest->page, sizeof page);
    look->change = trc_digest_sum(&page.thread, sizeof page.thread, look->change);
    look->pages++;
    look->wanted += page.pieces;
    if (page.of.number) {
        digest->rank.progress += page.thread.calls;
        return true;
    }
    if (digest->rank.threads == TRC_DIGEST_THREADS)
        return false;
    look->block[digest->rank.threads] = block;
    look->steps[digest->rank.threads] = steps;
    struct trc_digest_thread *of = &digest->rank.thread[digest->rank.threads++];
    *of = (struct trc_digest_thread){.thread = page.thread};
    digest->rank.progress += page.thread.completes;
    add_entries(digest, look, of, sizeof page, size);
    return steps % TRC_SETTLE_STEPS != TRC_SETTLE_ADD && page.thread.index == page.chunk.thread;
}

/* Adds a further piece of the page of a thread that was taken before. */
static bool add_piece(struct trc_digest *digest, struct look *look, uint16_t thread, size_t size)
{
    look->pieces++;
    for (uint32_t i = 0; i < digest->rank.threads; i++)
        if (digest->rank.thread[i].thread.index == thread) {
            add_entries(digest, look, &digest->rank.thread[i], sizeof(struct trc_chunk), size);
            return true;
        }
    return false; /* page of a stream; or the thread has no place */
}

/* Adds all followed chunks.  False: something of the live pages is not certain. */
static bool add_chunks(struct trc_digest *digest, const struct trc_followed *file, struct look *look)
{
    bool whole = true;
    for (uint32_t i = 0; i < file->chunks; i++) {
        struct trc_chunk chunk;
        uint8_t kind = file->chunk[i].kind;
        bool page = kind == TRC_CHUNK_THREAD || kind == TRC_CHUNK_PAGE;
        size_t room = (size_t)file->chunk[i].blocks * TRC_BLOCK, size = page ? room : sizeof chunk;
        uint64_t steps = 0;
        if ((kind == TRC_CHUNK_THREAD && !read_steps(look, file->chunk[i].block, &steps)) ||
            !read_at(look, file->chunk[i].block, digest->page, size))
            return false;
        memcpy(&chunk, digest->page, sizeof chunk);
        look->change = trc_digest_sum((uint64_t[]){chunk.sequence, chunk.committed, chunk.kind}, 24, look->change);
        if (chunk.magic != TRC_CHUNK_MAGIC || chunk.kind != kind || chunk.thread != file->chunk[i].thread)
            whole &= !page; /* stacks may have given it to events */
        else if (page) {
            size = chunk.committed < room - sizeof chunk ? chunk.committed + sizeof chunk : room;
            whole &= kind == TRC_CHUNK_THREAD ? add_page(digest, look, file->chunk[i].block, steps, size)
                                              : add_piece(digest, look, chunk.thread, size);
        }
    }
    for (uint32_t i = 0; i < digest->rank.threads; i++) {
        uint64_t now;
        whole &= read_steps(look, look->block[i], &now) && now == look->steps[i]; /* none moved bytes meanwhile */
    }
    return whole && look->pages == look->head.threads && look->pieces == look->wanted;
}

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

static unsigned char *put_z(unsigned char *at, uint64_t from, uint64_t to)
{
    return trc_put_varint(at, trc_zigzag((int64_t)(from - to)));
}

static unsigned char *put_thread(unsigned char *at, const struct trc_digest_thread *of, uint64_t ticks)
{
    const struct trc_thread *t = &of->thread;
    at = trc_put_varint(at, t->index);
    at = trc_put_varint(at, t->tid);
    at = trc_put_varint(at, t->inside);
    if (t->inside) {
        at = trc_put_varint(at, of->class);
        at = put_z(at, ticks, t->inside_since);
        at = trc_put_varint(at, t->inside_sequence);
    }
    at = trc_put_varint(at, t->last);
    at = put_z(at, ticks, t->last_end);
    const uint64_t counters[] = {t->calls,         t->mpi_ticks,         t->sent,   t->received,
                                 t->sent_messages, t->received_messages, t->starts, t->completes};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        at = trc_put_varint(at, counters[i]);
    return at;
}

static unsigned char *put_rank(unsigned char *at, const struct trc_digest_rank *r, uint64_t realtime_ns)
{
    const uint64_t fields[] = {r->pid,    r->pid_start,  r->pid_namespace, r->flags,
                               r->change, r->heartbeats, r->latest.ticks,  r->latest.monotonic_ns};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        at = trc_put_varint(at, fields[i]);
    at = put_z(at, r->latest.realtime_ns, realtime_ns);
    at = trc_put_varint(at, r->latest.error_ticks);
    at = trc_put_varint(at, r->progress);
    at = trc_put_varint(at, r->threads);
    for (uint32_t i = 0; i < r->threads; i++)
        at = put_thread(at, &r->thread[i], r->latest.ticks);
    return at;
}

/* Reads the head.  False: it is none that can be read now. */
static bool read_head(struct look *look)
{
    uint64_t version;
    struct trc_head *head = &look->head;
    off_t at = (off_t)offsetof(struct trc_head, latest_version);
    return trc_sys_read_at(look->fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
           memcmp(head->magic, TRC_MAGIC, sizeof head->magic) == 0 && head->version == TRC_VERSION &&
           head->block_size == TRC_BLOCK && head->chunks_offset < 1u << 30 &&
           trc_sys_read_at(look->fd, &version, sizeof version, at) == (ssize_t)sizeof version && version % 2 == 0 &&
           version == head->latest_version;
}

static uint64_t change_of_head(const struct trc_head *head)
{
    const uint64_t fields[] = {head->state,
                               head->flags,
                               head->init_ticks,
                               head->end_ticks,
                               head->lost_records,
                               head->recycled_chunks,
                               head->threads,
                               head->end.by,
                               head->threads_not_kept,
                               head->off_since,
                               head->off_times,
                               (uint64_t)head->error_errno,
                               (uint64_t)head->rank,
                               (uint64_t)head->world_size};
    return trc_digest_sum(fields, sizeof fields, 1);
}

static void forget_chunks(struct trc_followed *file)
{
    file->next = file->chunks = file->looks = 0;
    file->more = false;
}

/* Adds a rank to the body.  False: its trace cannot be read now, or is not of the node. */
static bool add_rank(struct trc_digest *digest, struct trc_followed *file, struct look *look,
                     const struct trc_digest_head *node)
{
    const struct trc_head *head = &look->head;
    if (!read_head(look) || memcmp(head->host, node->host, sizeof node->host) != 0 ||
        memcmp(head->boot_id, node->boot_id, sizeof node->boot_id) != 0)
        return false;
    if (head->recycled_chunks != file->recycled && ++file->looks >= NEW_LOOKS)
        forget_chunks(file); /* some may be of another kind now */
    if (!file->next)
        file->recycled = head->recycled_chunks;
    find_chunks(file, look);
    digest->rank = (struct trc_digest_rank){.pid = head->pid,
                                            .pid_start = head->pid_start,
                                            .pid_namespace = head->namespaces[TRC_NAMESPACE_pid],
                                            .heartbeats = head->heartbeats,
                                            .latest = head->latest};
    look->change = change_of_head(head);
    bool whole = add_chunks(digest, file, look) && !file->more;
    digest->rank.flags = whole ? TRC_DIGEST_WHOLE : 0;
    digest->rank.change = look->change;
    digest->rank.threads = whole ? digest->rank.threads : 0;
    digest->used = (size_t)(put_rank(digest->body + digest->used, &digest->rank, node->realtime_ns) - digest->body);
    digest->ranks++;
    return true;
}

static unsigned char *put_class(unsigned char *at, const struct trc_digest_class *class)
{
    const struct trc_sig *sig = &class->sig;
    const uint64_t fields[] = {class->threads,
                               sig->call,
                               sig->flags,
                               sig->comm,
                               trc_zigzag(sig->peer),
                               trc_zigzag(sig->tag),
                               trc_zigzag(sig->source),
                               trc_zigzag(sig->rtag),
                               sig->sent,
                               sig->received};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        at = trc_put_varint(at, fields[i]);
    return at;
}

size_t trc_digest_make(struct trc_digest *digest, int folder, const struct trc_digest_head *head,
                       const struct trc_call *calls, size_t call_count)
{
    const size_t room = sizeof digest->out - sizeof *head - TRC_DIGEST_CLASSES * 10u * TRC_VARINT_MAX;
    digest->classes = digest->ranks = 0;
    digest->used = 0;
    for (uint32_t i = 0; i < digest->files && digest->used + RANK_MOST < room; i++) {
        struct trc_followed *file = &digest->file[i];
        struct look look = {.calls = calls, .call_count = call_count};
        look.fd = file->gone ? -1
                             : trc_sys_open_at(folder, file->name,
                                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
        file->gone = look.fd < 0;
        if (look.fd >= 0) {
            add_rank(digest, file, &look, head);
            trc_sys_close(look.fd);
        }
    }
    struct trc_digest_head mine = *head;
    memcpy(mine.magic, TRC_DIGEST_MAGIC, sizeof mine.magic);
    mine.version = TRC_DIGEST_VERSION;
    mine.classes = digest->classes;
    mine.ranks = digest->ranks;
    unsigned char *at = digest->out + sizeof mine;
    for (uint32_t i = 0; i < digest->classes; i++)
        at = put_class(at, &digest->class[i]);
    memcpy(at, digest->body, digest->used);
    mine.size = (uint32_t)((size_t)(at - digest->out) + digest->used);
    memcpy(digest->out, &mine, sizeof mine);
    const size_t from = offsetof(struct trc_digest_head, sequence);
    mine.checksum = trc_digest_sum(digest->out + from, mine.size - from, 0);
    memcpy(digest->out, &mine, sizeof mine);
    return mine.size;
}
