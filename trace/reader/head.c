/* The head: whether it is ours, which of its numbers can be used, and how its clock runs. */
#include "trace/reader/file.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE_MIN 1024u
#define BLOCK_SIZE_MAX (1u << 20)

bool trc_head_read(const struct trc_file *file, struct trc_head *head)
{
    struct trc_anchor latest = file->head.latest;
    uint64_t version = file->head.latest_version;
    for (int tries = 0; tries < 3; tries++) {
        uint64_t after;
        if (trc_file_read(file, 0, head, sizeof *head) != sizeof *head ||
            trc_file_read(file, offsetof(struct trc_head, latest_version), &after, sizeof after) != sizeof after)
            return false;
        if (after == head->latest_version && after % 2 == 0)
            return true;
    }
    head->latest =
        latest; /* the heartbeat died while it wrote, or writes all the time: the anchor read before will do */
    head->latest_version = version;
    return true;
}

static void clamp_head(struct trc_file *file, struct trc_head *head)
{
    if (head->world_size < -1 || head->world_size == 0 || head->world_size > TRC_WORLD_MAX) {
        trc_file_damage(file, "head: impossible number of ranks %d", (int)head->world_size);
        head->world_size = -1;
    }
    if (head->rank < -1 || head->rank >= TRC_WORLD_MAX || (head->world_size > 0 && head->rank >= head->world_size)) {
        trc_file_damage(file, "head: impossible rank %d", (int)head->rank);
        head->rank = -1;
    }
    if (head->state < TRC_STATE_STARTING || head->state > TRC_STATE_STOPPED) {
        trc_file_damage(file, "head: unknown state %u", head->state);
        head->state = TRC_STATE_STOPPED;
    }
    if (head->clock_source != TRC_CLOCK_TSC && head->clock_source != TRC_CLOCK_MONOTONIC) {
        trc_file_damage(file, "head: unknown clock %u", head->clock_source);
        head->clock_source = TRC_CLOCK_MONOTONIC;
    }
    if (head->thread_level < -1 || head->thread_level > 3)
        head->thread_level = -1;
    if (head->abi > TRC_ABI_STANDARD)
        head->abi = TRC_ABI_UNKNOWN;
    if (head->blocks_used > head->blocks_allocated)
        head->blocks_used = head->blocks_allocated;
#define CLEAN(member)                                                                                                  \
    head->member[sizeof head->member - 1] = 0;                                                                         \
    trc_clean_text(head->member)
    CLEAN(host);
    CLEAN(boot_id);
    CLEAN(job);
    CLEAN(exe);
    CLEAN(command);
    CLEAN(end.sender_name);
    CLEAN(end.message);
    if (head->end.by >= TRC_END_WAYS)
        head->end = (struct trc_end){0};
    CLEAN(mpi);
    CLEAN(container);
    CLEAN(error);
    CLEAN(batch);
    CLEAN(runtime);
#undef CLEAN
}

/* The length of a tick in ns, by two anchors if they are far enough apart; else 0. */
static double rate_of(const struct trc_head *head)
{
    if (head->clock_source == TRC_CLOCK_MONOTONIC)
        return 1;
    if (head->latest.ticks > head->start.ticks && head->latest.monotonic_ns > head->start.monotonic_ns) {
        double rate = (double)(head->latest.monotonic_ns - head->start.monotonic_ns) /
                      (double)(head->latest.ticks - head->start.ticks);
        if (rate > 1e-3 && rate < 1e3) /* no clock counts slower than 1 MHz or faster than 1 THz */
            return rate;
    }
    return 0;
}

void trc_head_adopt(struct trc_file *file, struct trc_head *head)
{
    clamp_head(file, head);
    double rate = rate_of(head);
    if (rate > 0)
        file->ns_per_tick = rate;
    file->head = *head;
}

const char *trc_head_refuse(const struct trc_head *head, size_t got, char *text, size_t size)
{
    static const char zeros[sizeof head->magic];
    if (got == 0)
        return "empty: its process found no space for a trace, or has only just begun it";
    if (got < sizeof *head && (got < 8 || !memcmp(head->magic, TRC_MAGIC, 8) || !memcmp(head->magic, zeros, 8)))
        return "too short to be an hpctop trace: copy it again, or leave it out";
    if (!memcmp(head->magic, zeros, 8))
        return "not an hpctop trace yet: its process has not finished making it, or died while it did";
    if (!memcmp(head->magic, "hpctop\n", 7) || !memcmp(head->magic, "hpctop\r\r", 8))
        return "an hpctop trace that was transferred in text mode and is spoilt: copy it again in binary mode";
    if (memcmp(head->magic, TRC_MAGIC, 8))
        return "not an hpctop trace (wrong magic)";
    if (head->byte_order != TRC_BYTE_ORDER)
        return "written on a machine of the other byte order: read it there";
    if (head->version != TRC_VERSION) {
        snprintf(text, size, "made by %s hpctop (format %u, this one reads %u): %s",
                 head->version > TRC_VERSION ? "a newer" : "an older", head->version, TRC_VERSION,
                 head->version > TRC_VERSION ? "update hpctop" : "use that one to read it");
        return text;
    }
    if (head->block_size < BLOCK_SIZE_MIN || head->block_size > BLOCK_SIZE_MAX ||
        (head->block_size & (head->block_size - 1))) {
        snprintf(text, size, "damaged head: blocks of %u bytes; nothing behind it can be found", head->block_size);
        return text;
    }
    if (head->chunks_offset < TRC_HEAD_SIZE || head->chunks_offset > INT64_MAX / 2) {
        snprintf(text, size, "damaged head: chunks at %llu; nothing behind it can be found",
                 (unsigned long long)head->chunks_offset);
        return text;
    }
    return NULL;
}

double trc_ns_per_tick(const struct trc_file *file)
{
    return file->ns_per_tick > 0 ? file->ns_per_tick : 1;
}

int64_t trc_ticks_to_ns(const struct trc_file *file, uint64_t ticks)
{
    const struct trc_anchor *start = &file->head.start;
    double since = ticks >= start->ticks ? (double)(ticks - start->ticks) : -(double)(start->ticks - ticks);
    int64_t base = start->monotonic_ns < INT64_MAX / 4 ? (int64_t)start->monotonic_ns : 0;
    double sum = since * trc_ns_per_tick(file);
    if (sum > 4e18 || sum < -4e18)
        return sum < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
    return base + (int64_t)(sum < 0 ? sum - 0.5 : sum + 0.5);
}
