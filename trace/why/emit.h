/* Facts that trace/why emits to the search for causes (trace/cause): waits, and needs of calls.  Only for sums that are
 * fed with causes; ana_why_settle and ana_why_sync do nothing else. */
#pragma once

#include "trace/relations/waits.h"
#include "trace/why/why.h"

/* Emits the facts that came by the pipeline. */
void ana_why_pass_on(struct ana_why *why, const struct ana_run_fact *fact);

/* Room for a fact of a rank that follows from the events of a thread: by the thread that processes these first. */
struct ana_run_fact *ana_why_emit(struct ana_why *why, enum ana_run_fact_kind kind, size_t index);
/* Room for another fact: by the thread that finds it. */
struct ana_run_fact *ana_why_emit_found(struct ana_why *why, enum ana_run_fact_kind kind, size_t index);

/* A new place, by its number + 1, and what kind of call is made there. */
void ana_why_emit_place(struct ana_why *why, uint32_t number, enum trc_opclass opclass);
/* A new segment, by its number + 1. */
void ana_why_emit_segment(struct ana_why *why, uint32_t number, const struct ana_segment *segment);

/* Emits a wait; `left_ns` of it had not been counted before.  If it counts, it is added to its sums and to the site of
 * the waiter's call `in` (NULL: not known). */
void ana_why_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t left_ns, bool counts,
                  struct ana_wait_places places, const struct ana_why_call *in);
/* Emits a message, after its waits: the needs of its calls, and its part of sums. */
void ana_why_message(struct ana_why *why, const struct ana_message *message, const struct ana_run_transfer *moved);
/* Emits a collective, after its waits: the needs of its calls. */
void ana_why_instance(struct ana_why *why, const struct ana_instance *instance);
/* Emits the completion of a nonblocking collective, after its wait. */
void ana_why_joined(struct ana_why *why, const struct ana_joined *joined);
/* Emits a wait of a GPU for a launch by another rank; `counted_ns` of it count: no call of the waiter's is longer by
 * it. */
void ana_why_device_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t counted_ns,
                         struct ana_wait_places places);
/* Emits the need of a call for a particular rank, after its wait. */
void ana_why_need(struct ana_why *why, const struct ana_need *need);

/* Follows the waits that ended ANA_DELAY_LAG_NS before `now_ns`, in job time, and the run replayed up to there;
 * INT64_MAX: all.  `idle`: nothing more will come for now. */
void ana_why_settle(struct ana_why *why, int64_t now_ns, bool idle);
/* Returns once all events handed on, and all facts emitted, are processed: then the results (why->causes) can be read,
 * until more are emitted. */
void ana_why_sync(struct ana_why *why);
/* Returns the cost of a segment, by its number + 1, without why->served; nothing where causes are not looked for. */
struct ana_cost ana_why_cost(const struct ana_why *why, uint32_t number);
/* Returns the costs of a rank that are charged to no segment, without why->served; `why` looks for causes. */
struct ana_rank_cost ana_why_rank_cost(const struct ana_why *why, size_t index);
