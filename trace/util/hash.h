/* The one hash of bytes: xxHash's XXH3.  It only ever finds things again in this process: never written, never compared
 * with another's. */
#ifndef ANA_HASH_H
#define ANA_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t ana_hash(const void *bytes, size_t size);
uint64_t ana_hash_text(const char *text); /* of NULL as of "" */

#endif
