#include "trace/util/keep.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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

void ana_keep_load(struct ana_keep *keep, FILE *file, uint64_t at, uint64_t most)
{
    begin(keep, file);
    keep->loads = true;
    keep->at = at;
    keep->most = most;
}

bool ana_keep_holds(struct ana_keep *keep, bool fact)
{
    if (keep->loads && !fact)
        keep->failed = true;
    return !keep->failed;
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Packs the block; returns how many bytes it takes then, or that it cannot be made smaller.  Without zlib's own
 * checksum: a block has ours, which takes a tenth of the time. */
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

/* Reads bytes of the file, without moving its position: others may read it, too.  False: they are not there. */
static bool read_at(FILE *file, uint64_t at, void *to, size_t n)
{
    for (ssize_t got; n; at += (uint64_t)got, n -= (size_t)got, to = (char *)to + got)
        if (at > INT64_MAX || (got = pread(fileno(file), to, n, (off_t)at)) <= 0)
            return false;
    return true;
}

/* Reads the head of the block at *at, and moves on to the next.  False: there is none, or it is damaged. */
static bool read_head(FILE *file, uint64_t *at, struct head *head)
{
    if (!read_at(file, *at, head, sizeof *head) || head->length > BLOCK || head->packed > head->length)
        return false;
    *at += sizeof *head + head->packed;
    return true;
}

/* Reads the next block.  False: there is none, or it is damaged. */
static bool read_block(struct ana_keep *keep)
{
    struct head head;
    uint64_t at = keep->at + sizeof head;
    keep->used = keep->filled = 0;
    if (!read_head(keep->file, &keep->at, &head))
        return false;
    uint8_t *bytes = head.packed < head.length ? keep->packed : keep->block;
    if (!read_at(keep->file, at, bytes, head.packed))
        return false;
    if (bytes == keep->packed && !unpack(keep, head.packed, head.length))
        return false;
    if (keep->read)
        *keep->read += sizeof head + head.packed;
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

void ana_keep_part(struct ana_keep *keep)
{
    if (keep->used && !keep->failed)
        write_block(keep);
    if (!keep->failed)
        write_block(keep);
}

bool ana_keep_end(struct ana_keep *keep)
{
    if (!keep->loads)
        ana_keep_part(keep);
    else if (!keep->failed)
        keep->failed = keep->used != keep->filled || !read_block(keep) || keep->filled;
    free(keep->block);
    free(keep->packed);
    free(keep->work);
    keep->block = keep->packed = keep->work = NULL;
    return !keep->failed;
}

bool ana_keep_find(FILE *file, uint64_t *begin, size_t n)
{
    struct head head;
    for (size_t i = 0; i < n; i++) {
        begin[i + 1] = begin[i];
        do {
            if (!read_head(file, &begin[i + 1], &head))
                return false;
        } while (head.length);
    }
    return !read_at(file, begin[n], &(char){0}, 1);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static bool is_zero(const uint8_t *at, size_t n)
{
    return n == 0 || (at[0] == 0 && memcmp(at, at + 1, n - 1) == 0);
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

static bool is_there(const uint8_t *there, size_t column)
{
    return there[column / 8] >> column % 8 & 1;
}

/* Leaves out columns that are zero, which most are, and notes which are there.  Returns the bytes of these. */
static size_t leave_out(uint8_t *columns, uint8_t *there, size_t n, size_t size)
{
    size_t kept = 0;
    memset(there, 0, (size + 7) / 8);
    for (size_t b = 0; b < size; b++) {
        if (is_zero(columns + b * n, n))
            continue;
        memmove(columns + kept, columns + b * n, n);
        kept += n;
        there[b / 8] |= (uint8_t)(1u << b % 8);
    }
    return kept;
}

/* Fills a word of each row from those `k` columns of it that are there, and which bits they are. */
static inline void fill(uint8_t *rows, const uint8_t *columns, size_t n, size_t size, const unsigned *shift, size_t k)
{
    uint64_t word = 0;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < k; i++)
            word += (uint64_t)columns[i * n + r] << shift[i];
        memcpy(rows + r * size, &word, sizeof word);
    }
}

/* Returns the number of columns. */
static size_t word_back(uint8_t *rows, const uint8_t *columns, uint8_t there, size_t n, size_t size)
{
    unsigned shift[8];
    size_t k = 0;
    for (size_t b = 0; b < 8; b++)
        if (is_there(&there, b))
            shift[k++] = (unsigned)b * 8;
    if (k <= 1) /* these take most of the time */
        fill(rows, columns, n, size, shift, k ? 1 : 0);
    else if (k == 2)
        fill(rows, columns, n, size, shift, 2);
    else
        fill(rows, columns, n, size, shift, k);
    return k;
}

/* Turns the columns that are there back into rows. */
static void turn_back(uint8_t *rows, const uint8_t *columns, const uint8_t *there, size_t n, size_t size)
{
    size_t words = size / 8;
    for (size_t w = 0; w < words; w++)
        columns += n * word_back(rows + w * 8, columns, there[w], n, size);
    for (size_t b = words * 8; b < size; b++) {
        bool is = is_there(there, b);
        for (size_t r = 0; r < n; r++)
            rows[r * size + b] = is ? columns[r] : 0;
        columns += is ? n : 0;
    }
}

void ana_keep_bytes(struct ana_keep *keep, void *at, size_t size)
{
    if (keep->loads)
        get(keep, at, size);
    else
        put(keep, at, size);
}

/* Makes room for so many bytes to work with.  NULL: out of memory. */
static uint8_t *room_for(struct ana_keep *keep, size_t bytes)
{
    if (bytes > keep->room) {
        free(keep->work);
        keep->work = malloc(bytes);
        keep->room = keep->work ? bytes : 0;
    }
    keep->failed |= !keep->work;
    return keep->work;
}

static void save_rows(struct ana_keep *keep, const uint8_t *rows, size_t n, size_t size, ana_keep_strip *strip)
{
    uint8_t *columns = room_for(keep, 2 * n * size + (size + 7) / 8);
    if (keep->failed)
        return;
    uint8_t *copy = columns + n * size, *there = copy + n * size;
    memcpy(copy, rows, n * size);
    for (size_t r = 0; r < n && strip; r++)
        strip(copy + r * size);
    turn(copy, columns, n, size);
    size_t kept = leave_out(columns, there, n, size);
    put(keep, there, (size + 7) / 8);
    put(keep, columns, kept);
}

static void load_rows(struct ana_keep *keep, uint8_t *rows, size_t n, size_t size, ana_keep_strip *strip)
{
    uint8_t *columns = room_for(keep, n * size + (size + 7) / 8);
    size_t kept = 0;
    if (keep->failed)
        return;
    uint8_t *there = columns + n * size;
    get(keep, there, (size + 7) / 8);
    for (size_t b = 0; b < size && !keep->failed; b++)
        kept += is_there(there, b) ? n : 0;
    get(keep, columns, kept);
    if (keep->failed)
        return;
    turn_back(rows, columns, there, n, size);
    for (size_t r = 0; r < n && strip; r++)
        strip(rows + r * size);
}

void ana_keep_rows(struct ana_keep *keep, void *rows, size_t n, size_t size, ana_keep_strip *strip)
{
    size_t some = ROWS / size ? ROWS / size : 1;
    for (size_t done = 0; done < n && !keep->failed; done += some) {
        size_t now = n - done < some ? n - done : some;
        if (keep->loads)
            load_rows(keep, (uint8_t *)rows + done * size, now, size, strip);
        else
            save_rows(keep, (uint8_t *)rows + done * size, now, size, strip);
    }
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
