/* Any bytes as the items of one chunk in an otherwise good trace: the reader and the whole pass over them end, in time
 * and memory, and touch nothing outside. */
#ifndef FUZZ_CHUNK_H
#define FUZZ_CHUNK_H

#include "tests/fuzz/job.h"

#include <fcntl.h>

#define FUZZ_SECOND 1000000000u /* ns */

struct fuzz_chunk {
    int file;
    uint64_t place;        /* offset of the head in the file */
    struct trc_chunk head; /* head without an input */
    uint32_t from, room;   /* bytes of items before the input, and with it */
};

/* Finds the first chunk of a kind in the image of a file. */
static inline void fuzz_find_chunk(struct fuzz_chunk *chunk, struct tb *tb, enum trc_chunk_kind kind)
{
    size_t size;
    const uint8_t *image = tb_image(tb, &size);
    for (uint64_t at = tb_head(tb)->chunks_offset; at + sizeof chunk->head <= size; at += TRC_BLOCK) {
        memcpy(&chunk->head, image + at, sizeof chunk->head);
        if (chunk->head.magic == TRC_CHUNK_MAGIC && chunk->head.kind == kind) {
            chunk->place = at;
            chunk->room = chunk->head.blocks * TRC_BLOCK - (uint32_t)sizeof chunk->head;
            return;
        }
    }
    exit(1);
}

/* Writes the files of two ranks; the input will lie in a chunk of rank 0's, behind the built items, or instead of
 * these. */
static inline void fuzz_build(struct fuzz_chunk *chunk, struct tb *(*build)(int rank), enum trc_chunk_kind kind,
                              bool behind)
{
    fuzz_make_folder();
    for (int rank = 0; rank < 2; rank++) {
        struct tb *tb = build(rank);
        tb_write(tb, fuzz_path[rank]);
        if (!rank)
            fuzz_find_chunk(chunk, tb, kind);
        tb_free(tb);
    }
    chunk->from = behind ? chunk->head.committed : 0;
    chunk->head.last_ticks += FUZZ_SECOND;
    chunk->file = open(fuzz_path[0], O_RDWR | O_CLOEXEC);
    if (chunk->file < 0)
        exit(1);
}

/* Puts the input into the chunk, and asks all of the job. */
static inline void fuzz_try(const struct fuzz_chunk *chunk, const uint8_t *data, size_t size)
{
    struct trc_chunk head = chunk->head;
    size_t n = size < chunk->room - chunk->from ? size : chunk->room - chunk->from;
    head.committed = chunk->from + (uint32_t)n;
    head.records += (uint32_t)n;
    uint64_t items = chunk->place + sizeof head + chunk->from;
    if (pwrite(chunk->file, data, n, (off_t)items) != (ssize_t)n ||
        pwrite(chunk->file, &head, sizeof head, (off_t)chunk->place) != sizeof head)
        exit(1);
    struct ana_job *job = fuzz_open_job();
    fuzz_ask(job);
    ana_job_close(job);
}

#endif
