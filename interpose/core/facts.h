/* Facts about the process that explain hangs and slowness: which libraries are loaded, namespaces, limits, processors,
 * settings, forks.  Each becomes a TRC_DEF_FACT: a key and a text. */
#pragma once

#include <stdbool.h>

/* Writes the facts known at once, from the environment, and begins to count forks.  Once, at the end of
 * the first Init, in the program's thread. */
void ipo_facts_start(void);

/* Writes one fact; of several with the same key the last one counts.  Any thread, not on the record path.  Both
 * texts are copied. */
void ipo_fact(const char *key, const char *value);

/* Writes the facts that take time, at first; then the number of forks.  Our own thread, each round. */
void ipo_facts_round(void);
