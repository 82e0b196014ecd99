/* Requests of stacks: the recorders of running ranks take them when a file in the folder is touched. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ana_job;
struct ana_rank;
struct ana_verdict;
struct trc_file;

/* Asks in all folders.  Returns the time of the request in ns, which names it; 0: it is possible in none.  `loud`: says
 * so on stderr. */
uint64_t tui_ask_for_stacks(const char *const *folder, int n, bool loud);
/* Whether a rank's recorder runs, as far as is known. */
bool tui_may_answer(const struct ana_rank *rank);
/* Whether a rank has answered a request of `asked` or later, to 1 ms: network file systems round the time. */
bool tui_has_answered(const struct trc_file *file, uint64_t asked);
#define TUI_ANSWERS_NS INT64_C(2000000000) /* patience for answers */
/* Returns the verdict, as ana_job_verdict does. Where it names running ranks whose stacks were not taken, which may
 * show that they wait for something else, asks for stacks, seldom, and waits for them up to `patience_ns`. */
const struct ana_verdict *tui_sure_verdict(struct ana_job *job, const char *const *folder, int n, int64_t patience_ns);
/* Refreshes the job until all ranks that run have answered; `asked` 0: at once. */
void tui_wait_for_answers(struct ana_job *job, uint64_t asked, int64_t patience_ns);
