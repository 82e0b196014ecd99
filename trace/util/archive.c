#include "trace/util/archive.h"
#include "trace/util/hash.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define BLOCK (1u << 20)
#define LEVEL 3
#define ROWS  (1u << 15)

/* Before each block; both lengths are 0 at the end. */
struct head {
    uint32_t length, packed; /* bytes; equal: the block is not packed */
    uint32_t checksum;       /* checksum of the unpacked bytes */
};

static void begin(struct ana_archive *archive, FILE *file, bool loads)
{
    *archive = (struct ana_archive){.loads = loads,
                                    .file = file,
                                    .block = malloc(BLOCK),
                                    .packed = malloc(ZSTD_compressBound(BLOCK)),
                                    .packs = loads ? NULL : ZSTD_createCCtx(),
                                    .unpacks = loads ? ZSTD_createDCtx() : NULL};
    archive->failed = !archive->block || !archive->packed || (loads ? !archive->unpacks : !archive->packs);
}

void ana_archive_save(struct ana_archive *archive, FILE *file, uint64_t most)
{
    off_t at = ftello(file);
    begin(archive, file, false);
    archive->at = (uint64_t)at;
    archive->most = most;
    archive->failed |= at < 0;
}

void ana_archive_load(struct ana_archive *archive, FILE *file, uint64_t at, struct ana_budget *budget)
{
    begin(archive, file, true);
    archive->at = at;
    archive->budget = budget;
}

bool ana_archive_require(struct ana_archive *archive, bool fact)
{
    if (archive->loads && !fact)
        archive->failed = true;
    return !archive->failed;
}

bool ana_archive_charge(struct ana_archive *archive, uint64_t n, size_t size)
{
    return ana_archive_require(archive, !archive->loads || archive->failed || ana_charge(archive->budget, n, size));
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

/* Packs the block; returns how many bytes it takes then, or that it cannot be made smaller. */
static uint32_t pack(struct ana_archive *archive)
{
    size_t n = ZSTD_compressCCtx(archive->packs, archive->packed, ZSTD_compressBound(BLOCK), archive->block,
                                 archive->used, LEVEL);
    return (uint32_t)(ZSTD_isError(n) || n > archive->used ? archive->used : n);
}

/* The other way round.  False: it is damaged. */
static bool unpack(struct ana_archive *archive, uint32_t packed, uint32_t length)
{
    return ZSTD_decompressDCtx(archive->unpacks, archive->block, length, archive->packed, packed) == length;
}

static void write_block(struct ana_archive *archive)
{
    struct head head = {.length = (uint32_t)archive->used,
                        .packed = pack(archive),
                        .checksum = (uint32_t)ana_hash(archive->block, archive->used)};
    const uint8_t *bytes = head.packed < head.length ? archive->packed : archive->block;
    archive->bytes += sizeof head + head.packed;
    if (archive->bytes > archive->most || fwrite(&head, sizeof head, 1, archive->file) != 1 ||
        (head.packed && fwrite(bytes, head.packed, 1, archive->file) != 1))
        archive->failed = true;
    archive->used = 0;
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
static bool read_block(struct ana_archive *archive)
{
    struct head head;
    uint64_t at = archive->at + sizeof head;
    archive->used = archive->filled = 0;
    if (!read_head(archive->file, &archive->at, &head))
        return false;
    uint8_t *bytes = head.packed < head.length ? archive->packed : archive->block;
    if (!read_at(archive->file, at, bytes, head.packed))
        return false;
    if (bytes == archive->packed && !unpack(archive, head.packed, head.length))
        return false;
    archive->filled = head.length;
    return (uint32_t)ana_hash(archive->block, head.length) == head.checksum;
}

static void put(struct ana_archive *archive, const void *from, size_t n)
{
    for (const uint8_t *at = from; n && !archive->failed;) {
        size_t part = BLOCK - archive->used < n ? BLOCK - archive->used : n;
        memcpy(archive->block + archive->used, at, part);
        archive->used += part;
        at += part;
        n -= part;
        if (archive->used == BLOCK)
            write_block(archive);
    }
}

static void get(struct ana_archive *archive, void *to, size_t n)
{
    for (uint8_t *at = to; n && !archive->failed;) {
        if (archive->used == archive->filled && (!read_block(archive) || !archive->filled)) {
            archive->failed = true;
            break;
        }
        size_t part = archive->filled - archive->used < n ? archive->filled - archive->used : n;
        memcpy(at, archive->block + archive->used, part);
        archive->used += part;
        at += part;
        n -= part;
    }
}

void ana_archive_part(struct ana_archive *archive)
{
    if (archive->used && !archive->failed)
        write_block(archive);
    if (!archive->failed)
        write_block(archive);
}

bool ana_archive_truncate(struct ana_archive *archive, uint64_t bytes)
{
    off_t at = (off_t)(archive->at + bytes);
    archive->used = 0;
    archive->bytes = bytes;
    archive->failed = fflush(archive->file) != 0 || ftruncate(fileno(archive->file), at) != 0 ||
                      fseeko(archive->file, at, SEEK_SET) != 0;
    return !archive->failed;
}

bool ana_archive_end(struct ana_archive *archive)
{
    if (archive->loads && !archive->failed)
        archive->failed = archive->used != archive->filled || !read_block(archive) || archive->filled;
    ZSTD_freeCCtx(archive->packs);
    ZSTD_freeDCtx(archive->unpacks);
    archive->packs = NULL;
    archive->unpacks = NULL;
    free(archive->block);
    free(archive->packed);
    free(archive->work);
    archive->block = archive->packed = archive->work = NULL;
    return !archive->failed;
}

bool ana_archive_find(FILE *file, uint64_t *begin, size_t n)
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

/* Rows are encoded column by column, a column being a number of 8 bytes in each row, or the bytes left at a row's end.
 * Numbers are written plainly, or as differences from the column before, from the row above, or from both. */
enum { FROM_BEFORE = 1, FROM_ABOVE = 2, HOWS = 4 };

struct column {
    uint8_t *at, *before; /* first row of it, and of the last earlier column with any number but 0 */
    size_t n, size;       /* rows, and bytes of one */
    size_t bytes;         /* bytes of a number */
    int how;
};

static inline uint64_t number_at(const uint8_t *at, size_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, at, bytes);
    return number;
}

/* Differences, of either sign, as numbers that are small where these are. */
static inline uint64_t fold(uint64_t far)
{
    return far << 1 ^ (0 - (far >> 63));
}

static inline uint64_t unfold(uint64_t folded)
{
    return folded >> 1 ^ (0 - (folded & 1));
}

/* Encodes the numbers of a column.  Returns the bits that they take; *any: the bits that are set in at least one. */
static uint64_t encode(const struct column *c, int how, uint64_t *encoded, uint64_t *any)
{
    uint64_t above = 0, bits = 0;
    *any = 0;
    for (size_t r = 0; r < c->n; r++) {
        uint64_t number = number_at(c->at + r * c->size, c->bytes);
        if (how & FROM_BEFORE)
            number -= number_at(c->before + r * c->size, 8);
        encoded[r] = how ? fold(number - (how & FROM_ABOVE ? above : 0)) : number;
        above = number;
        *any |= encoded[r];
        bits += 64 - (uint64_t)__builtin_clzll(encoded[r] | 1);
    }
    return bits;
}

/* Encodes the numbers in the way that takes the fewest bits; `encoded` has room for two columns.  Returns the place of
 * the result. */
static uint64_t *encode_best(struct column *c, uint64_t *encoded, uint64_t *any)
{
    uint64_t *other = encoded + c->n, *swap, least = encode(c, c->how = 0, encoded, any), seen;
    for (int how = 1; how < HOWS && *any; how++) {
        if (how & FROM_BEFORE && !c->before)
            continue;
        uint64_t bits = encode(c, how, other, &seen);
        if (bits >= least)
            continue;
        least = bits;
        swap = encoded;
        encoded = other;
        other = swap;
        *any = seen;
        c->how = how;
    }
    return encoded;
}

/* Puts the bytes of numbers below each other, without the bytes that are 0 in all.  Returns their end; *there: a bit
 * for each byte that is not left out. */
static uint8_t *put_bytes(uint8_t *to, const uint64_t *encoded, size_t n, uint64_t any, uint8_t *there)
{
    *there = 0;
    for (unsigned b = 0; b < 8; b++) {
        if (!(any >> 8 * b & 0xff))
            continue;
        *there |= (uint8_t)(1u << b);
        for (size_t r = 0; r < n; r++)
            *to++ = (uint8_t)(encoded[r] >> 8 * b);
    }
    return to;
}

/* Decodes the numbers of a column from the `k` bytes of each that were kept. */
static inline void fill(const struct column *c, const uint8_t *from, const unsigned *shift, size_t k, size_t bytes)
{
    uint64_t above = 0;
    for (size_t r = 0; r < c->n; r++) {
        uint64_t number = 0;
        for (size_t i = 0; i < k; i++)
            number |= (uint64_t)from[i * c->n + r] << shift[i];
        if (c->how)
            number = unfold(number) + (c->how & FROM_ABOVE ? above : 0);
        above = number;
        if (c->how & FROM_BEFORE)
            number += number_at(c->before + r * c->size, 8);
        memcpy(c->at + r * c->size, &number, bytes);
    }
}

/* Returns the number of bytes that were there, of a number. */
static size_t fill_column(const struct column *c, const uint8_t *from, uint8_t there)
{
    unsigned shift[8];
    size_t k = 0;
    for (unsigned b = 0; b < 8; b++)
        if (there >> b & 1)
            shift[k++] = b * 8;
    if (c->bytes != 8)
        fill(c, from, shift, k, c->bytes);
    else if (k <= 1) /* few bytes a number: these take most of the time */
        fill(c, from, shift, k ? 1 : 0, 8);
    else if (k == 2)
        fill(c, from, shift, 2, 8);
    else
        fill(c, from, shift, k, 8);
    return k;
}

/* Copies column `w` of rows. */
static void copy_column(struct column *c, uint8_t *rows, size_t w)
{
    c->at = rows + w * 8;
    c->bytes = c->size - w * 8 < 8 ? c->size - w * 8 : 8;
}

void ana_archive_bytes(struct ana_archive *archive, void *at, size_t size)
{
    if (archive->loads)
        get(archive, at, size);
    else
        put(archive, at, size);
}

/* Makes sure of `bytes` bytes to work with.  NULL: out of memory. */
static void *room_for(struct ana_archive *archive, size_t bytes)
{
    if (bytes > archive->room) {
        free(archive->work);
        archive->work = malloc(bytes);
        archive->room = archive->work ? bytes : 0;
    }
    archive->failed |= !archive->work;
    return archive->work;
}

static void save_rows(struct ana_archive *archive, const uint8_t *rows, size_t n, size_t size, ana_archive_strip *strip)
{
    struct column c = {.n = n, .size = size};
    const size_t columns = (size + 7) / 8;
    uint64_t any, *encoded = room_for(archive, n * (2 * sizeof *encoded + size + columns * 8) + columns * 2);
    if (archive->failed)
        return;
    uint8_t *copy = (uint8_t *)(encoded + 2 * n), *head = copy + n * size, *to = head + 2 * columns;
    memcpy(copy, rows, n * size);
    for (size_t r = 0; r < n && strip; r++)
        strip(copy + r * size);
    for (size_t w = 0; w < columns; w++) {
        copy_column(&c, copy, w);
        const uint64_t *best = encode_best(&c, encoded, &any);
        head[2 * w] = (uint8_t)c.how;
        to = put_bytes(to, best, n, any, &head[2 * w + 1]);
        if (c.how || any)
            c.before = c.at;
    }
    put(archive, head, (size_t)(to - head));
}

static void load_rows(struct ana_archive *archive, uint8_t *rows, size_t n, size_t size, ana_archive_strip *strip)
{
    struct column c = {.n = n, .size = size};
    const size_t columns = (size + 7) / 8;
    uint8_t *head = room_for(archive, n * columns * 8 + columns * 2), *from = head + 2 * columns;
    size_t bytes = 0;
    if (archive->failed)
        return;
    get(archive, head, 2 * columns);
    for (size_t w = 0; w < columns && !archive->failed; w++)
        bytes += n * (size_t)__builtin_popcount(head[2 * w + 1]);
    get(archive, from, bytes);
    for (size_t w = 0; w < columns && !archive->failed; w++) {
        copy_column(&c, rows, w);
        c.how = head[2 * w];
        if (!ana_archive_require(archive, c.how < HOWS && (c.before || !(c.how & FROM_BEFORE))))
            break;
        from += n * fill_column(&c, from, head[2 * w + 1]);
        if (c.how || head[2 * w + 1])
            c.before = c.at;
    }
    for (size_t r = 0; r < n && strip; r++) /* strips refused rows, too: they will be freed */
        strip(rows + r * size);
}

/* Rows whose memory is charged. */
static void archive_rows(struct ana_archive *archive, void *rows, size_t n, size_t size, ana_archive_strip *strip)
{
    size_t some = ROWS / size ? ROWS / size : 1;
    for (size_t done = 0; done < n && !archive->failed; done += some) {
        size_t now = n - done < some ? n - done : some;
        if (archive->loads)
            load_rows(archive, (uint8_t *)rows + done * size, now, size, strip);
        else
            save_rows(archive, (uint8_t *)rows + done * size, now, size, strip);
    }
}

void ana_archive_rows(struct ana_archive *archive, void *rows, size_t n, size_t size, ana_archive_strip *strip)
{
    if (ana_archive_charge(archive, n, size))
        archive_rows(archive, rows, n, size, strip);
}

void ana_archive_array(struct ana_archive *archive, void **rows, size_t *n, size_t size, size_t most)
{
    uint64_t count = *n;
    ANA_ARCHIVE(archive, count);
    if (archive->loads) {
        *rows = NULL;
        *n = 0;
        if (!ana_archive_require(archive, count <= most) || !ana_archive_charge(archive, count, size) || !count)
            return;
        *rows = calloc((size_t)count, size);
        *n = *rows ? (size_t)count : 0;
        archive->failed |= !*rows;
    }
    archive_rows(archive, *rows, *n, size, NULL);
}

void ana_archive_map(struct ana_archive *archive, struct ana_map *map, ana_archive_strip *strip)
{
    size_t count = archive->loads ? 0 : map->count;
    void *keys = map->keys;
    ana_archive_array(archive, &keys, &count, 3 * sizeof(uint64_t), UINT32_MAX / 4);
    ana_archive_charge(archive, 2 * (uint64_t)count,
                       map->value_size + 4 * sizeof(uint64_t)); /* key and slots included */
    for (size_t i = 0; archive->loads && i < count && !archive->failed; i++) {
        const uint64_t *key = (const uint64_t *)keys + 3 * i;
        if (ana_archive_require(archive, !ana_map_find(map, key[0], key[1], key[2])))
            archive->failed |= !ana_map_make(map, key[0], key[1], key[2]);
    }
    if (archive->loads)
        free(keys);
    if (!archive->failed)
        archive_rows(archive, map->values, count, map->value_size, strip);
}

/* Returns the object that the pointer at `offset` of value i points to. */
static void *owned_by(const struct ana_map *map, size_t i, size_t offset)
{
    void *owned;
    memcpy(&owned, (char *)ana_map_value(map, i) + offset, sizeof owned);
    return owned;
}

void ana_archive_owned(struct ana_archive *archive, struct ana_map *map, size_t offset, size_t size,
                       ana_archive_strip *strip)
{
    uint8_t *has = calloc(map->count + 1, 1), *rows = NULL;
    size_t n = 0, row = 0;
    archive->failed |= !has;
    for (size_t i = 0; has && i < map->count; i++)
        has[i] = owned_by(map, i, offset) != NULL;
    if (has)
        archive_rows(archive, has, map->count, 1, NULL);
    for (size_t i = 0; i < map->count && !archive->failed; i++)
        n += has[i] != 0;
    if (ana_archive_charge(archive, n, 2 * size) && n) /* array of pointers, and rows */
        archive->failed |= !(rows = calloc(n, size));
    for (size_t i = 0; !archive->loads && rows && i < map->count; i++)
        if (has[i])
            memcpy(rows + size * row++, owned_by(map, i, offset), size);
    if (rows)
        archive_rows(archive, rows, n, size, strip);
    for (size_t i = 0; archive->loads && rows && i < map->count && !archive->failed; i++) {
        void *owned = has[i] ? malloc(size) : NULL;
        archive->failed |= has[i] && !owned;
        if (owned)
            memcpy(owned, rows + size * row++, size);
        memcpy((char *)ana_map_value(map, i) + offset, &owned, sizeof owned);
    }
    free(rows);
    free(has);
}
