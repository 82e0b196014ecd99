#include "trace/reader/digest.h"
#include "trace/format/decode.h"
#include "trace/reader/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_OF_RANK  12u /* bytes: as many varints */
#define LEAST_OF_CLASS 10u
#define MEMORY         256u /* bytes for each byte of a digest, at most */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static bool get_z(struct trc_bytes *in, uint64_t *value)
{
    uint64_t raw;
    if (!trc_get_varint(in, &raw))
        return false;
    *value = (uint64_t)trc_unzigzag(raw);
    return true;
}

static bool get_small(struct trc_bytes *in, uint32_t *value)
{
    uint64_t raw;
    if (!trc_get_varint(in, &raw) || raw > UINT32_MAX)
        return false;
    *value = (uint32_t)raw;
    return true;
}

static bool get_rank_number(struct trc_bytes *in, int32_t *value)
{
    uint64_t raw;
    if (!get_z(in, &raw) || (int64_t)raw > INT32_MAX || (int64_t)raw < INT32_MIN)
        return false;
    *value = (int32_t)(int64_t)raw;
    return true;
}

static bool get_class(struct trc_bytes *in, struct trc_digest_class *class)
{
    struct trc_sig *sig = &class->sig;
    return get_small(in, &class->threads) && get_small(in, &sig->call) && get_small(in, &sig->flags) &&
           get_small(in, &sig->comm) && get_rank_number(in, &sig->peer) && get_rank_number(in, &sig->tag) &&
           get_rank_number(in, &sig->source) && get_rank_number(in, &sig->rtag) && trc_get_varint(in, &sig->sent) &&
           trc_get_varint(in, &sig->received);
}

static bool get_thread(struct trc_bytes *in, uint64_t ticks, uint32_t classes, struct trc_digest_thread *of)
{
    struct trc_thread *t = &of->thread;
    uint64_t since = 0, last = 0;
    uint32_t index;
    if (!get_small(in, &index) || !get_small(in, &t->tid) || !get_small(in, &t->inside) || index >= TRC_MAX_THREADS ||
        t->inside > TRC_SIGS)
        return false;
    t->index = (uint16_t)index;
    if (t->inside && (!get_small(in, &of->class) || !get_z(in, &since) || !trc_get_varint(in, &t->inside_sequence)))
        return false;
    if (of->class > classes || !get_small(in, &t->last) || t->last > TRC_SIGS || !get_z(in, &last))
        return false;
    t->inside_since = t->inside ? ticks - since : 0;
    t->last_end = ticks - last;
    uint64_t *const counters[] = {&t->calls,         &t->mpi_ticks,         &t->sent,   &t->received,
                                  &t->sent_messages, &t->received_messages, &t->starts, &t->completes};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (!trc_get_varint(in, counters[i]))
            return false;
    return true;
}

static bool get_rank(struct trc_bytes *in, const struct trc_digest_head *head, struct trc_digest_rank *r)
{
    uint64_t realtime = 0;
    uint64_t *const fields[] = {&r->pid,    &r->pid_start,  &r->pid_namespace, &r->flags,
                                &r->change, &r->heartbeats, &r->latest.ticks,  &r->latest.monotonic_ns};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!trc_get_varint(in, fields[i]))
            return false;
    if (!get_z(in, &realtime) || !trc_get_varint(in, &r->latest.error_ticks) || !trc_get_varint(in, &r->progress) ||
        !get_small(in, &r->threads) || r->threads > TRC_DIGEST_THREADS)
        return false;
    r->latest.realtime_ns = head->realtime_ns + realtime;
    for (uint32_t i = 0; i < r->threads; i++)
        if (!get_thread(in, r->latest.ticks, head->classes, &r->thread[i]))
            return false;
    return true;
}

static const char *check_head(struct trc_digest_head *head, const unsigned char *bytes, size_t size)
{
    const size_t from = offsetof(struct trc_digest_head, sequence);
    if (size < sizeof *head)
        return "too short for a digest of a node";
    memcpy(head, bytes, sizeof *head);
    if (memcmp(head->magic, TRC_DIGEST_MAGIC, sizeof head->magic) != 0)
        return "no digest of a node";
    if (head->version != TRC_DIGEST_VERSION)
        return "a digest of another version of hpctop";
    if (head->size < sizeof *head || head->size > size || head->size > TRC_DIGEST_MOST ||
        head->checksum != trc_digest_sum(bytes + from, head->size - from, 0))
        return "a digest that is cut off or half written";
    size_t rest = head->size - sizeof *head;
    if (head->classes > TRC_DIGEST_CLASSES || head->ranks > TRC_DIGEST_RANKS ||
        (size_t)head->ranks * LEAST_OF_RANK + (size_t)head->classes * LEAST_OF_CLASS > rest)
        return "a digest with more ranks than it has room for";
    head->host[sizeof head->host - 1] = head->boot_id[sizeof head->boot_id - 1] = 0;
    trc_clean_text(head->host);
    trc_clean_text(head->boot_id);
    return NULL;
}

const char *trc_node_parse(const void *bytes, size_t size, struct trc_node *node)
{
    *node = (struct trc_node){0};
    struct trc_digest_head head;
    const char *why = check_head(&head, bytes, size);
    if (why)
        return why;
    struct ana_budget budget = {0};
    ana_budget_set(&budget, head.size, MEMORY);
    node->class = ana_budget_resize(&budget, NULL, 0, (head.classes + 1u) * sizeof *node->class);
    node->rank = ana_budget_resize(&budget, NULL, 0, (head.ranks + 1u) * sizeof *node->rank);
    bool good = node->class && node->rank;
    struct trc_bytes in = {(const uint8_t *)bytes + sizeof head, (const uint8_t *)bytes + head.size};
    for (uint32_t i = 0; good && i < head.classes; i++)
        good = get_class(&in, &node->class[i]);
    for (uint32_t i = 0; good && i < head.ranks; i++)
        good = get_rank(&in, &head, &node->rank[i]);
    node->head = head;
    if (good)
        return NULL;
    trc_node_free(node);
    return "a digest with numbers that cannot be";
}

void trc_node_free(struct trc_node *node)
{
    free(node->class);
    free(node->rank);
    *node = (struct trc_node){0};
}

static size_t read_all(int fd, unsigned char *to, size_t size)
{
    size_t got = 0;
    for (ssize_t n; got < size; got += (size_t)n) {
        n = pread(fd, to + got, size - got, (off_t)got);
        if (n < 0 && errno == EINTR)
            n = 0;
        else if (n <= 0)
            break;
    }
    return got;
}

const char *trc_node_read(const char *path, uint64_t sequence, struct trc_node *node)
{
    *node = (struct trc_node){0};
    struct trc_digest_head head = {0};
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0)
        return "cannot be opened";
    const char *why = fstat(fd, &status) || !S_ISREG(status.st_mode) ? "no regular file" : NULL;
    /* A look that finds nothing new reads no more than this. */
    bool same = !why && read_all(fd, (unsigned char *)&head, sizeof head) == sizeof head && sequence &&
                head.sequence == sequence;
    unsigned char *bytes = why || same ? NULL : malloc(TRC_DIGEST_MOST);
    if (bytes)
        why = trc_node_parse(bytes, read_all(fd, bytes, TRC_DIGEST_MOST), node);
    free(bytes);
    close(fd);
    return why;
}

/* ---- a trace ----------------------------------------------------------------------------------------------------- */

bool trc_digest_is_incomplete(const struct trc_file *file)
{
    bool computes = false, streams = false;
    for (size_t i = 0; i < file->threads; i++) {
        const struct trc_live *live = trc_live_page(file, i);
        streams |= live && live->of.number;
        computes |= live && live->thread.tid && !live->thread.inside;
    }
    return streams || file->gpu || (computes && file->regions.count);
}

/* The signature that a thread is inside, without what differs between processes. */
static bool is_class(const struct trc_sig *mine, const struct trc_sig *class)
{
    struct trc_sig sig = *mine;
    sig.site = 0;
    sig.object = 0;
    return memcmp(&sig, class, sizeof sig) == 0;
}

static bool is_known(const struct trc_file *file, const struct trc_node *node, const struct trc_digest_rank *rank)
{
    for (uint32_t i = 0; i < rank->threads; i++) {
        const struct trc_digest_thread *of = &rank->thread[i];
        const struct trc_live *live = trc_live_page(file, of->thread.index);
        if (!live || live->of.number || live->cut)
            return false;
        if (!of->thread.inside)
            continue;
        const struct trc_sig *sig = trc_live_sig(file, of->thread.index, of->thread.inside);
        if (!sig || !of->class || !is_class(sig, &node->class[of->class - 1].sig))
            return false;
    }
    return rank->flags & TRC_DIGEST_WHOLE;
}

/* Whether messages or requests came to a thread's that were there. */
static bool is_more(const struct trc_thread *had, const struct trc_thread *now)
{
    return had->sent_messages != now->sent_messages || had->received_messages != now->received_messages ||
           had->starts != now->starts || had->completes != now->completes;
}

static void decode_thread(struct trc_thread *to, const struct trc_thread *from)
{
    to->tid = from->tid;
    to->inside = from->inside;
    to->last = from->last;
    to->inside_since = from->inside_since;
    to->inside_sequence = from->inside_sequence;
    to->last_end = from->last_end;
    to->calls = from->calls;
    to->mpi_ticks = from->mpi_ticks;
    to->sent = from->sent;
    to->received = from->received;
    to->sent_messages = from->sent_messages;
    to->received_messages = from->received_messages;
    to->starts = from->starts;
    to->completes = from->completes;
}

bool trc_digest_apply(struct trc_file *file, const struct trc_node *node, const struct trc_digest_rank *rank,
                      bool unchanged)
{
    if (!is_known(file, node, rank))
        return false;
    if (rank->latest.ticks < file->head.latest.ticks)
        return true; /* the file was read since */
    file->seen_alive |= rank->heartbeats != file->head.heartbeats;
    file->head.heartbeats = rank->heartbeats;
    file->head.latest = rank->latest;
    if (unchanged)
        file->complete = rank->latest;
    file->progress = rank->progress;
    for (uint32_t i = 0; !unchanged && i < rank->threads; i++) {
        struct trc_thread *thread = &file->live[rank->thread[i].thread.index]->thread;
        file->behind |= is_more(thread, &rank->thread[i].thread);
        decode_thread(thread, &rank->thread[i].thread);
    }
    return true;
}

const struct trc_anchor *trc_complete(const struct trc_file *file)
{
    return &file->complete;
}

uint64_t trc_progress(const struct trc_file *file)
{
    return file->progress;
}

bool trc_behind(const struct trc_file *file)
{
    return file->behind;
}

void trc_want(struct trc_file *file)
{
    file->wanted = true;
}

bool trc_wanted(const struct trc_file *file)
{
    return file->wanted;
}
