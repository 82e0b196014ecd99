/* Facts about the process that explain hangs and slowness: which libraries are loaded, namespaces, limits, processors,
 * settings, forks.  Each becomes a TRC_DEF_FACT: a key and a text. */
#ifndef IPO_FACTS_H
#define IPO_FACTS_H

#include <stdbool.h>

void ipo_facts_start(void); /* at the end of the first Init, in the program's thread: its environment; watches forks */
void ipo_fact(const char *key, const char *value); /* one more; any thread, not on the record path */
void ipo_facts_round(bool ripe); /* our own thread: the rest, once ripe, and the files again when MPI_Init is over; and
                                    forks since */

#endif
