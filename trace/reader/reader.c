/* Opening a trace file, its damage, and refreshing it. */
#include "trace/reader/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void read_all(struct trc_file *file, bool *moved)
{
    file->refreshes++;
    file->complete = file->head.latest; /* read before all else */
    file->progress = 0;
    file->wanted = file->behind = false;
    /* Order matters: what an event or a live page refers to was defined before, so definitions are read last. */
    *moved |= trc_chunks_refresh(file);
    *moved |= trc_live_refresh(file);
    *moved |= trc_gpu_refresh(file);
    *moved |= trc_defs_refresh(file);
    trc_live_place(file);
}

/* Reads the file's size, after its head: space is allocated before the head counts it. */
static bool read_size(struct trc_file *file)
{
    struct stat status;
    int fd = trc_file_hold(file);
    bool known = fd >= 0 && !fstat(fd, &status);
    trc_file_release(file);
    if (!known || file->size == (uint64_t)status.st_size)
        return false;
    file->size = (uint64_t)status.st_size;
    ana_budget_set(&file->budget, file->size, TRC_MEMORY);
    return true;
}

enum trc_status trc_open(const char *path, struct trc_file **out, char *error, size_t error_size)
{
    char text[128];
    const char *why = "out of memory";
    struct trc_descriptor *descriptor = trc_descriptor_open(path);
    if (!descriptor) {
        snprintf(error, error_size, "%s: %s%s", path, strerror(errno), errno == EMFILE ? ": raise `ulimit -n`" : "");
        return TRC_BAD;
    }
    struct trc_file *file = calloc(1, sizeof *file);
    if (!file) {
        trc_descriptor_close(descriptor);
        goto refused;
    }
    file->descriptor = descriptor;
    file->path = strdup(path);
    struct stat status;
    if (!file->path)
        goto undo;
    if (fstat(descriptor->fd, &status) || !S_ISREG(status.st_mode)) {
        why = "not a regular file, so not an hpctop trace";
        goto undo;
    }
    struct trc_head head = {0};
    size_t got = trc_file_read(file, 0, &head, sizeof head);
    why = trc_head_refuse(&head, got, text, sizeof text);
    if (why)
        goto undo;
    if (!trc_head_read(file, &head) || trc_head_refuse(&head, sizeof head, text, sizeof text)) {
        why = "changed while it was opened: try again";
        goto undo;
    }
    trc_head_adopt(file, &head);
    bool moved = read_size(file);
    read_all(file, &moved);
    trc_file_release(file);
    *out = file;
    return TRC_OK;

undo:
    trc_close(file);
refused:
    snprintf(error, error_size, "%s: %s", path, why);
    return TRC_BAD;
}

void trc_close(struct trc_file *file)
{
    if (!file)
        return;
    trc_descriptor_close(file->descriptor);
    trc_live_free(file);
    for (size_t i = 0; i < file->damage_count; i++)
        free(file->damage[i]);
    free(file->damage);
    free(file->holes);
    free(file->gpu);
    trc_defs_free(file);
    trc_calls_free(file);
    free(file->chunks);
    free(file->events);
    free(file->path);
    free(file);
}

static bool refresh(struct trc_file *file)
{
    struct trc_head head, *old = &file->head;
    bool moved = false;
    if (!trc_head_read(file, &head) || memcmp(head.magic, TRC_MAGIC, sizeof head.magic) || head.pid != old->pid ||
        head.pid_start != old->pid_start) {
        trc_file_damage(file, "the head is gone: somebody truncated or overwrote the file");
        moved = !file->spoilt;
        file->spoilt = true;
        moved |= read_size(file);
        read_all(file, &moved);
        return moved;
    }
    /* The layout stays as it was read first: a writer never changes it. */
    head.version = old->version;
    head.byte_order = old->byte_order;
    head.block_size = old->block_size;
    head.chunks_offset = old->chunks_offset;
    file->seen_alive |= head.heartbeats != old->heartbeats;
    file->check_again |= head.recycled_chunks != old->recycled_chunks || head.state != old->state;
    struct trc_head before = *old;
    trc_head_adopt(file, &head);
    moved = memcmp(&before, &file->head, sizeof before) != 0;
    uint64_t size = file->size;
    moved |= read_size(file);
    read_all(file, &moved);
    file->spoilt |= file->size < size && file->truncated; /* a writer gives back unused space at its end */
    return moved;
}

bool trc_refresh(struct trc_file *file)
{
    /* A network file system checks its cached pages against the server when a file is opened, not when it is read. */
    if (file->head.flags & TRC_HEAD_WRITE_BACK && !trc_file_reopen(file))
        trc_file_damage(file, "could not be opened again: %s", strerror(errno));
    trc_file_hold(file);
    bool moved = refresh(file);
    trc_file_release(file);
    return moved;
}

void trc_set_final(struct trc_file *file)
{
    file->final = true;
}

uint64_t trc_revision(const struct trc_file *file)
{
    return file->refreshes * 2 + file->final;
}

bool trc_spoilt(const struct trc_file *file)
{
    return file->spoilt;
}

const struct trc_head *trc_head(const struct trc_file *file)
{
    return &file->head;
}
const char *trc_path(const struct trc_file *file)
{
    return file->path;
}
uint64_t trc_size(const struct trc_file *file)
{
    return file->size;
}
