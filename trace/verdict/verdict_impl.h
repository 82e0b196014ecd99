/* All that the files of the verdict share: for files that read more than a case. */
#pragma once

#include "trace/job/comms.h"
#include "trace/members/members.h"
#include "trace/stacks/stacks.h"
#include "trace/util/numfmt.h"
#include "trace/verdict/judgement_impl.h"
#include "trace/verdict/last_events.h"
#include "trace/verdict/render.h"

struct ana_deaths;

/* waiting.c: finds the waiting operation of each thread.  False: out of memory. */
bool ana_case_waiting(struct ana_case *c);
/* life.c: least duration of an unproven trouble, ns: hang_ns, or twice the longest wait in such a call. */
int64_t ana_patience(const struct ana_case *c);

/* gpu.c: gathers the operations under way on devices, as c->gpu.  False: out of memory. */
bool ana_case_gpu(struct ana_case *c);
void ana_case_free_gpu(struct ana_case *c); /* none is fine */
/* gpu_model.c: writes what the host of a rank waits for on its device.  False: nothing is under way there. */
bool ana_gpu_waiting(struct ana_case *c, size_t index, struct ana_waiting *out);
/* Adds the operations to the graph. */
void ana_gpu_model(struct ana_case *c);
/* Adds a node that moves when any operation of the rank can end, and returns it. */
size_t ana_gpu_need(struct ana_case *c, size_t index);

/* spawn.c: the node of a call of MPI_Comm_spawn and the like, for model.c; SIZE_MAX: it may move. */
size_t ana_spawn_need(struct ana_case *c, const struct ana_waiting *waiting);

/* cut.c, off.c: add evidence about files that are cut off, and about times when recording was switched off. */
void ana_explain_cut(struct ana_case *c);
void ana_explain_off(struct ana_case *c);    /* times without recording */
void ana_explain_failed(struct ana_case *c); /* failed.c: calls that failed before, and calls that callbacks make */
/* horovod.c: the job time since when Horovod's loops hang; INT64_MAX: they do not. */
int64_t ana_loops_hung_since(struct ana_case *c);
/* spawn.c: wait of the other group's leader (*index) in MPI_Intercomm_create; NULL: none there */
struct ana_waiting *ana_other_leader(struct ana_case *c, const struct ana_waiting *p, size_t *index);
/* The group given to MPI_Comm_create_group; NULL: another call, or not known. */
const struct trc_ranks *ana_created_group(struct ana_case *c, const struct ana_waiting *p);
/* The wait of a rank in such a call with the group of `p`, rather one with the same tag; NULL: none. */
const struct ana_waiting *ana_creates_too(struct ana_case *c, const struct ana_waiting *p, size_t index);
/* threads.c */
/* The first thread of a rank that has called MPI and is outside, mostly the main one; UINT32_MAX: none. */
uint32_t ana_thread_outside(struct ana_case *c, size_t index);
/* Makes the rank's line, and its stack, tell of that thread where its others only listen. */
void ana_tell_outside(struct ana_case *c, size_t index);
/* Marks ranks with a silent thread, and calls of a thread with a mutex that another thread waits for. */
void ana_doubt_threads(struct ana_case *c);
/* Whether the stack, newer than the rank's last call, is of a silent thread: one of the program that may call MPI. */
bool ana_is_silent_thread(const struct ana_case *c, const struct ana_stack *stack);
/* habit.c: reduces the culprits to one rank if only that one of its knot left its habit. */
void ana_narrow_culprits(struct ana_case *c);
/* missing.c: blames the ranks in a function of the program that this collective calls, or MPI_Finalize where it is
 * NULL, and returns whether one waits for a lock or a signal there. */
bool ana_blame_callbacks(struct ana_case *c, const struct ana_group *g);
/* ends.c: whether somebody is in MPI_Init, for no longer than a slow start takes. */
bool ana_case_starting(const struct ana_case *c);
/* Blames the ranks of the first world that have made no file, the first few by name, and returns how many there are. */
size_t ana_blame_absent(struct ana_case *c);
/* Explains ranks without a file that have not come to a call, where `inside` others wait. */
void ana_explain_absent(struct ana_case *c, size_t absent, const char *call, size_t inside);
/* Explains ranks without a file where all others ended in MPI_Init.  False: it is not so. */
bool ana_explain_killed_at_start(struct ana_case *c);
/* Explains where the ranks of further worlds were spawned. */
void ana_explain_children(struct ana_case *c);
/* stopped.c */
enum ana_stop {
    ANA_MOVES,
    ANA_STOPPED, /* stopped by a signal: the kernel says so */
    ANA_FROZEN,  /* it exists, and its heartbeat has stopped */
    ANA_SILENT   /* heartbeat has stopped, and nothing else is known of it */
};
/* Finds the hosts that fell silent while others are heard; before ana_case_stop. */
void ana_case_find_quiet(struct ana_case *c);
/* Whether and how a process is stopped. */
enum ana_stop ana_case_stop(const struct ana_case *c, size_t index);
/* Adds evidence that culprits whose heartbeat has stopped still exist. */
void ana_explain_stopped(struct ana_case *c);
/* deaths.c: whether a rank that is there is blocked, and only others can free it. */
bool ana_anybody_waits(struct ana_case *c);

/* killed.c: explains that ranks were killed or told to end, and where each had been since when; nobody is blamed. */
void ana_explain_killed(struct ana_case *c, const struct ana_deaths *deaths, enum ana_confidence confidence);
/* Blames the first rank that crashed after MPI_Finalize where nobody is gone.  False: none did. */
bool ana_explain_late_crash(struct ana_case *c, const struct ana_deaths *deaths);
/* Whether, in a job that is over, one rank died clearly before the others, and nothing hung before. */
bool ana_died_first(struct ana_case *c);
/* Whether a job that is over hung longer before `end_ns` than it went on after it. */
bool ana_hung_before(struct ana_case *c, int64_t end_ns);

/* case.c */
/* Whether a rank has not come to a collective. */
bool ana_group_misses(const struct ana_group *g, size_t index);

/* finding.c */
/* Sets the state, class and certainty of the finding. */
void ana_case_set(struct ana_case *c, enum ana_verdict_state state, enum ana_verdict_class id,
                  enum ana_confidence sure);
/* Whether a rank is among the culprits. */
bool ana_is_culprit(const struct ana_finding *f, size_t index);

/* text.c */
/* Writes where a stack is: "app.c:17 in step", else its frame's function and module; empty where there is none. */
void ana_stack_place_words(const struct ana_job *job, const struct ana_stack *stack, char *out, size_t size);
/* Writes a call site: "app.c:17 in step"; empty where it is not known. */
void ana_site_words(const struct ana_job *job, size_t index, uint64_t site, char *out, size_t size);
/* Makes the verdict on a read or write of a file in a job that is over less certain. */
void ana_doubt_files(struct ana_case *c);
/* pair.c: number of messages that fit but for their ends: from `sender` to `other`, which has received none such, and
 * waits for none. Reads all streams of both. */
int64_t ana_dependency_strayed(struct ana_case *c, const struct ana_dependency *dependency, size_t sender,
                               size_t other);
/* Adds where threads of the culprits are that have called no MPI yet. */
void ana_explain_threads(struct ana_case *c);
/* Fills the verdict's groups: all ranks by their activity. */
void ana_case_groups(struct ana_case *c, struct ana_verdict *verdict);
/* Writes the call of a fact: "MPI_Recv from rank 1, tag 7". */
void ana_call_fact_words(const struct ana_case *c, struct ana_call call, char *out, size_t size);
/* Writes what a dependency needs: "a message from rank 1 with tag 7 on rows". */
void ana_dependency_words(const struct ana_case *c, const struct ana_dependency *dependency, char *out, size_t size);

/* gpu_find.c: whether an operation of a rank that is not gone has lasted long. */
bool ana_gpu_anybody_waits(struct ana_case *c);

/* known_bad.c: adds evidence where versions or settings are known to be bad. */
void ana_known_bad(struct ana_case *c);
