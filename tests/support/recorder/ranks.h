/* Ranks of a job as processes of a test: each has a recorder of its own. */
#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include <stddef.h>

/* Zeroed memory that the ranks and the test share. */
void *ranks_memory(size_t bytes);

/* Runs `rank_main` in `n` processes, one for each rank, and waits for them.  How many have failed: did not return 0.
 * While there is one thread. */
int ranks_run(int n, int (*rank_main)(int rank));

#endif
