/* Samples of stacks: where a late rank is more often than another one. */
#pragma once

struct ana_job;

/* Samples the main threads of ranks on this host for some seconds, compares the ranks with the lowest rank that is not
 * late, and prints the difference by function and line.  `ranks` as typed; NULL: the rank that the verdict blames, or
 * else the one that most waiting is charged to.  Returns the exit status, after an error message unless TUI_EXIT_OK. */
int tui_sample(struct ana_job *job, double seconds, const char *ranks);
