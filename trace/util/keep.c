#include "trace/util/keep.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCK (1u << 20)
#define ROWS  (1u << 15) /* bytes of rows that are turned into columns at once */

/* Before each block; both lengths are 0 at the end. */
struct head {
    uint32_t length, packed; /* in bytes; equal: it is not packed */
    uint32_t checksum;       /* of what is unpacked */
};

static void begin(struct ana_keep *keep, FILE *file)
{
    *keep = (struct ana_keep){.file = file, .block = malloc(BLOCK), .packed = malloc(compressBound(BLOCK))};
    keep->failed = !keep->block || !keep->packed;
}

void ana_keep_save(struct ana_keep *keep, FILE *file, uint64_t most)
{
    begin(keep, file);
    keep->most = most;
}

void ana_keep_load(struct ana_keep *keep, FILE *file, uint64_t most)
{
    begin(keep, file);
    keep->loads = true;
    keep->most = most;
}

bool ana_keep_holds(struct ana_keep *keep, bool fact)
{
    if (keep->loads && !fact)
        keep->failed = true;
    return !keep->failed;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Packs the block; returns how many bytes it takes then, or that it cannot be made smaller.  Without zlib's own checksum: a
 * block has ours, which takes a tenth of the time. */
static uint32_t pack(struct ana_keep *keep)
{
    z_stream z = {.next_in = keep->block,
                  .avail_in = (uInt)keep->used,
                  .next_out = keep->packed,
                  .avail_out = (uInt)compressBound(BLOCK)};
    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return (uint32_t)keep->used;
    bool done = deflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out < keep->used;
    uint32_t packed = (uint32_t)(done ? z.total_out : keep->used);
    deflateEnd(&z);
    return packed;
}

/* The other way round.  False: it is damaged. */
static bool unpack(struct ana_keep *keep, uint32_t packed, uint32_t length)
{
    z_stream z = {.next_in = keep->packed, .avail_in = packed, .next_out = keep->block, .avail_out = length};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return false;
    bool done = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == length && !z.avail_in;
    inflateEnd(&z);
    return done;
}

static void write_block(struct ana_keep *keep)
{
    struct head head = {
        .length = (uint32_t)keep->used, .packed = pack(keep), .checksum = (uint32_t)ana_hash(keep->block, keep->used)};
    const uint8_t *bytes = head.packed < head.length ? keep->packed : keep->block;
    keep->bytes += sizeof head + head.packed;
    if (keep->bytes > keep->most || fwrite(&head, sizeof head, 1, keep->file) != 1 ||
        (head.packed && fwrite(bytes, head.packed, 1, keep->file) != 1))
        keep->failed = true;
    keep->used = 0;
}

/* Reads the next block.  False: there is none, or it is damaged. */
static bool read_block(struct ana_keep *keep)
{
    struct head head;
    keep->used = keep->filled = 0;
    if (fread(&head, sizeof head, 1, keep->file) != 1 || head.length > BLOCK || head.packed > head.length)
        return false;
    uint8_t *bytes = head.packed < head.length ? keep->packed : keep->block;
    if (head.packed && fread(bytes, head.packed, 1, keep->file) != 1)
        return false;
    if (bytes == keep->packed && !unpack(keep, head.packed, head.length))
        return false;
    keep->filled = head.length;
    keep->bytes += head.length;
    return keep->bytes <= keep->most && (uint32_t)ana_hash(keep->block, head.length) == head.checksum;
}

static void put(struct ana_keep *keep, const void *from, size_t n)
{
    for (const uint8_t *at = from; n && !keep->failed;) {
        size_t part = BLOCK - keep->used < n ? BLOCK - keep->used : n;
        memcpy(keep->block + keep->used, at, part);
        keep->used += part;
        at += part;
        n -= part;
        if (keep->used == BLOCK)
            write_block(keep);
    }
}

static void get(struct ana_keep *keep, void *to, size_t n)
{
    for (uint8_t *at = to; n && !keep->failed;) {
        if (keep->used == keep->filled && (!read_block(keep) || !keep->filled)) {
            keep->failed = true;
            break;
        }
        size_t part = keep->filled - keep->used < n ? keep->filled - keep->used : n;
        memcpy(at, keep->block + keep->used, part);
        keep->used += part;
        at += part;
        n -= part;
    }
}

bool ana_keep_end(struct ana_keep *keep)
{
    if (!keep->loads && !keep->failed) {
        if (keep->used)
            write_block(keep);
        write_block(keep);
    } else if (!keep->failed) {
        keep->failed = keep->used != keep->filled || !read_block(keep) || keep->filled || getc(keep->file) != EOF;
    }
    free(keep->block);
    free(keep->packed);
    keep->block = keep->packed = NULL;
    return !keep->failed;
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *at, size_t n)
{
    return n == 0 || (at[0] == 0 && memcmp(at, at + 1, n - 1) == 0);
}

/* Fills a word of each row from its column.  Most bytes of differences are zero: those columns cost a look. */
static void words_back(uint8_t *rows, const uint8_t *column, size_t n, size_t size, uint64_t *work)
{
    memset(work, 0, n * sizeof *work);
    for (size_t b = 0; b < 8; b++) {
        const uint8_t *bytes = column + b * n;
        if (is_zero(bytes, n))
            continue;
        for (size_t r = 0; r < n; r++)
            work[r] |= (uint64_t)bytes[r] << 8 * b;
    }
    uint64_t before = 0;
    for (size_t r = 0; r < n; r++) {
        before += work[r];
        memcpy(rows + r * size, &before, sizeof before);
    }
}

/* Turns rows into columns: of words the differences to the row before, byte by byte; what is left of a row as it is. */
static void turn(const uint8_t *rows, uint8_t *columns, size_t n, size_t size)
{
    size_t words = size / 8;
    for (size_t w = 0; w < words; w++) {
        uint8_t *column = columns + w * 8 * n;
        uint64_t before = 0;
        for (size_t r = 0; r < n; r++) {
            uint64_t word = 0;
            memcpy(&word, rows + r * size + w * 8, sizeof word);
            for (size_t b = 0; b < 8; b++)
                column[b * n + r] = (uint8_t)((word - before) >> 8 * b);
            before = word;
        }
    }
    for (size_t b = words * 8; b < size; b++)
        for (size_t r = 0; r < n; r++)
            columns[b * n + r] = rows[r * size + b];
}

/* The other way round; `work` has room for a word of each row. */
static void turn_back(uint8_t *rows, const uint8_t *columns, size_t n, size_t size, uint64_t *work)
{
    size_t words = size / 8;
    for (size_t w = 0; w < words; w++)
        words_back(rows + w * 8, columns + w * 8 * n, n, size, work);
    for (size_t b = words * 8; b < size; b++)
        for (size_t r = 0; r < n; r++)
            rows[r * size + b] = columns[b * n + r];
}

void ana_keep_bytes(struct ana_keep *keep, void *at, size_t size)
{
    if (keep->loads)
        get(keep, at, size);
    else
        put(keep, at, size);
}

void ana_keep_rows(struct ana_keep *keep, void *rows, size_t n, size_t size, ana_keep_strip *strip)
{
    size_t some = ROWS / size ? ROWS / size : 1;
    some = some < n ? some : n;
    uint8_t *work = n ? malloc(2 * some * size) : NULL, *columns = work ? work + some * size : NULL;
    keep->failed |= n && !work;
    for (size_t done = 0; done < n && !keep->failed; done += some) {
        size_t now = n - done < some ? n - done : some;
        uint8_t *at = (uint8_t *)rows + done * size;
        if (keep->loads)
            get(keep, columns, now * size);
        if (keep->failed)
            break;
        if (!keep->loads)
            memcpy(work, at, now * size);
        for (size_t r = 0; r < now && strip && !keep->loads; r++)
            strip(work + r * size);
        if (keep->loads)
            turn_back(at, columns, now, size, (uint64_t *)work);
        else
            turn(work, columns, now, size);
        for (size_t r = 0; r < now && strip && keep->loads; r++)
            strip(at + r * size);
        if (!keep->loads)
            put(keep, columns, now * size);
    }
    free(work);
}

void ana_keep_array(struct ana_keep *keep, void **rows, size_t *n, size_t size, size_t most)
{
    uint64_t count = *n;
    ANA_KEEP(keep, count);
    if (keep->loads) {
        *rows = NULL;
        *n = 0;
        if (!ana_keep_holds(keep, count <= most) || !count)
            return;
        *rows = calloc((size_t)count, size);
        *n = *rows ? (size_t)count : 0;
        keep->failed |= !*rows;
    }
    ana_keep_rows(keep, *rows, *n, size, NULL);
}

void ana_keep_map(struct ana_keep *keep, struct ana_map *map, ana_keep_strip *strip)
{
    size_t count = keep->loads ? 0 : map->count;
    void *keys = map->keys;
    ana_keep_array(keep, &keys, &count, 3 * sizeof(uint64_t), UINT32_MAX / 4);
    for (size_t i = 0; keep->loads && i < count && !keep->failed; i++) {
        const uint64_t *key = (const uint64_t *)keys + 3 * i;
        if (ana_keep_holds(keep, !ana_map_find(map, key[0], key[1], key[2])))
            keep->failed |= !ana_map_make(map, key[0], key[1], key[2]);
    }
    if (keep->loads)
        free(keys);
    if (!keep->failed)
        ana_keep_rows(keep, map->values, count, map->value_size, strip);
}

/* What the pointer at `offset` of value i points to. */
static void *owned_by(const struct ana_map *map, size_t i, size_t offset)
{
    void *owned;
    memcpy(&owned, (char *)ana_map_value(map, i) + offset, sizeof owned);
    return owned;
}

void ana_keep_owned(struct ana_keep *keep, struct ana_map *map, size_t offset, size_t size, ana_keep_strip *strip)
{
    uint8_t *has = calloc(map->count + 1, 1), *rows = NULL;
    size_t n = 0, row = 0;
    keep->failed |= !has;
    for (size_t i = 0; has && i < map->count; i++)
        has[i] = owned_by(map, i, offset) != NULL;
    if (has)
        ana_keep_rows(keep, has, map->count, 1, NULL);
    for (size_t i = 0; i < map->count && !keep->failed; i++)
        n += has[i] != 0;
    if (!keep->failed && n)
        keep->failed |= !(rows = calloc(n, size));
    for (size_t i = 0; !keep->loads && rows && i < map->count; i++)
        if (has[i])
            memcpy(rows + size * row++, owned_by(map, i, offset), size);
    if (rows)
        ana_keep_rows(keep, rows, n, size, strip);
    for (size_t i = 0; keep->loads && rows && i < map->count && !keep->failed; i++) {
        void *owned = has[i] ? malloc(size) : NULL;
        keep->failed |= has[i] && !owned;
        if (owned)
            memcpy(owned, rows + size * row++, size);
        memcpy((char *)ana_map_value(map, i) + offset, &owned, sizeof owned);
    }
    free(rows);
    free(has);
}
