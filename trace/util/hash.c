#include "trace/util/hash.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ana_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

uint64_t ana_hash_text(const char *text)
{
    return text ? XXH3_64bits(text, strlen(text)) : XXH3_64bits("", 0);
}
