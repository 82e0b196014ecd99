/* Packed inputs: several files in few bytes.  "PACK", then pieces: u32 place, u16 size, that many bytes for the file at
 * `place`; files lie FUZZ_FILE apart, and bytes of no piece are zero.  Pieces behind the first whose place is
 * FUZZ_LATER come when the files were looked at once. */
#ifndef FUZZ_PACK_H
#define FUZZ_PACK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FUZZ_FILE  (4u << 20)
#define FUZZ_FILES 4u
#define FUZZ_LATER UINT32_MAX

struct fuzz_piece {
    uint32_t place;
    uint16_t size;
    const uint8_t *bytes;
};

/* The next piece; false: there is none. */
static inline bool fuzz_next(const uint8_t **at, const uint8_t *end, struct fuzz_piece *piece)
{
    if (end - *at < 6)
        return false;
    memcpy(&piece->place, *at, 4);
    memcpy(&piece->size, *at + 4, 2);
    piece->bytes = *at + 6;
    if (piece->size > end - piece->bytes)
        piece->size = (uint16_t)(end - piece->bytes);
    *at = piece->bytes + piece->size;
    return true;
}

#endif
