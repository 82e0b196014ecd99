/* The verdict: health of the job (healthy, waiting, stopped, slow, hung or aborted), the culprits, and the evidence.
 *
 * Sources are the files alone: the call each thread is inside and since when (live pages), and the ends of the event
 * streams.  A running job is never judged by one sample: a rank counts as hung when it has not moved between two
 * samples, or has been in one call since long before.  A finished job is judged by the ends of its files.
 *
 * Blocked ranks make a graph: a rank in a collective waits for all members that have not come, in a receive for its
 * source (for any of many: a wildcard), in a send for the receiver, in MPI_Wait for its requests.  A rank whose
 * dependencies can move on will move on.  The others are deadlocked, and that is a proof where the graph is certain
 * (rules.proof_ns is enough).  A rank outside MPI may come back at any time: it hangs when it has shown no sign of life
 * for rules.hang_ns (life.c); else the others wait for it.
 *
 * Work: O(ranks + threads) for the live pages, and the last chunks only of ranks that hang or are waited for.
 * Not for the traced process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_job;
struct ana_reason;

enum ana_verdict_state {
    ANA_VERDICT_HEALTHY,
    ANA_VERDICT_WAITING, /* long for a rank that shows signs of life */
    ANA_VERDICT_STOPPED, /* suspended: all processes are stopped */
    ANA_VERDICT_SLOW,
    ANA_VERDICT_HUNG,
    ANA_VERDICT_ABORTED,
    ANA_VERDICT_UNKNOWN
};
/* "healthy" "waiting" "stopped" "slow" "hung" "aborted" "unknown": the words of screens, report and JSON. */
const char *ana_verdict_state_name(enum ana_verdict_state state);

enum ana_verdict_class {
#define VERDICT_CLASS(id, name, next) ANA_CLASS_##id,
#include "trace/verdict/verdict_class.def"
#undef VERDICT_CLASS
    ANA_CLASSES
};
/* "wait-cycle" ...; NULL for ANA_CLASS_NONE. */
const char *ana_verdict_class_name(enum ana_verdict_class id);

enum ana_confidence { ANA_POSSIBLE, ANA_LIKELY, ANA_PROVEN };
/* "possible" "likely" "proven" */
const char *ana_confidence_name(enum ana_confidence confidence);

/* Whether a state is worth an alarm: a job that is healthy, waits or is suspended is not. */
bool ana_verdict_state_alarms(enum ana_verdict_state state);

/* Ranks that are at the same place. */
struct ana_verdict_group {
    char who[80];    /* "rank 5", "ranks 0-4", "4 others" */
    char doing[256]; /* activity, e.g. "in MPI_Recv from rank 1, tag 7" */
    char where[256]; /* "app.c:17 in step"; empty: not known */
    size_t first;    /* rank index of a member of the group */
    size_t count;
    bool culprit;
};

/* A fact as a sentence, and what the sentence tells, for programs. */
enum ana_value_kind { ANA_VALUE_RANKS, ANA_VALUE_TEXT, ANA_VALUE_COUNT, ANA_VALUE_NS, ANA_VALUE_REAL };
struct ana_verdict_value {
    const char *name; /* name of the term: "who", "call" ... (terms.def) */
    enum ana_value_kind kind;
    size_t *rank, ranks; /* indices */
    char *text;
    int64_t number;
    double real;
};
struct ana_verdict_fact {
    const char *id; /* name of its row in sentences.def: "NEVER_SENT" */
    char *text;
    size_t values;
    struct ana_verdict_value *value;
};

#define ANA_DETAIL_LINE 256
enum { ANA_ABSENTS = 64 };
struct ana_verdict {
    enum ana_verdict_state state;
    enum ana_verdict_class id;
    enum ana_confidence confidence;
    int64_t since_ns; /* duration so far; -1 unknown */
    int64_t usual_ns; /* usual duration of such a wait; 0 unknown */
    size_t culprits;  /* rank indices, ascending */
    size_t *culprit;
    size_t absents; /* further culprits without a file: the first few */
    int32_t absent[ANA_ABSENTS];
    struct ana_verdict_fact summary; /* one sentence, without state and time; an empty one where nothing is wrong */
    size_t facts;                    /* the evidence */
    struct ana_verdict_fact *fact;
    char next[256]; /* advice on where to look; empty: none */
    size_t groups;  /* all ranks, the culprits first, then the smallest groups */
    struct ana_verdict_group *group;
    size_t divergences; /* lines of ana_stacks_divergence, outermost frame first; 0: no stacks, or all at one place */
    char (*divergence)[ANA_DETAIL_LINE];
};

/* Writes a reason: "same work, 1.4 x the time: waited 31.0% for a processor"; "" for none. */
void ana_reason_words(const struct ana_reason *reason, char *out, size_t size);

struct ana_verdict_rules {
    int64_t proof_ns; /* a deadlock that is proven must have lasted this long; default 1 s */
    int64_t hang_ns;  /* least duration of an unproven trouble; default 30 s */
    bool by_past;     /* .. and twice as long as any wait of its kind that ended; default true */
};
/* Sets how long standstill must last; for the next verdicts. */
void ana_job_set_rules(struct ana_job *job, struct ana_verdict_rules rules);
/* Sets the rules of --hang: an unproven trouble must have lasted `hang_s` seconds, a proven one no longer than that,
 * nor than 1 s. 0: leaves the rules at their defaults. */
void ana_job_set_hang(struct ana_job *job, double hang_s);

/* Latest time to look at a running job again, by CLOCK_MONOTONIC in ns: a trouble seen by the last ana_job_refresh
 * is worth a word then, if it goes on: a wait of many, the silence of a host. INT64_MAX: there is none. */
int64_t ana_job_due(const struct ana_job *job);

/* Number of samples taken of a running job, half a second or more apart. ana_job_refresh takes them; two are enough. */
unsigned ana_job_samples(const struct ana_job *job);
/* Whether something seems to hang, or soon will: a second sample would tell. */
bool ana_job_suspect(const struct ana_job *job);

/* Whether a rank of another host seems to be gone, by wall clocks that may be wrong: a sample two seconds later tells
 * by its heartbeat. */
bool ana_job_doubtful(const struct ana_job *job);

/* The verdict on the job as it is known now, one for all who show it.  It is made anew only after something changed, as
 * a refresh, the analysis of events or a summary of the whole run can do.  It lives until it is made anew, longer for
 * who holds it.  NULL: out of memory. */
const struct ana_verdict *ana_job_verdict(const struct ana_job *job);
/* Writes at most `most` sentences about versions and settings of the job that are known to be bad (known_bad.def), each
 * with its source; returns how many.  Static. */
size_t ana_known_bad_of(const struct ana_job *job, const char *text[], size_t most);

struct ana_upper;
/* Enters the verdict's functions into the table of trace/job. */
void ana_verdict_enter(struct ana_upper *upper);
/* Adds a reference to a verdict, until ana_verdict_release; returns it.  NULL stays NULL. */
const struct ana_verdict *ana_verdict_hold(const struct ana_verdict *verdict);
/* Drops a reference to a verdict; NULL is none. */
void ana_verdict_release(const struct ana_verdict *verdict);

/* Writes what the threads of a rank are in, their last calls, and their stacks where some were taken.  Returns how many
 * lines, `max` at most. */
size_t ana_rank_detail(const struct ana_job *job, size_t index, char (*line)[ANA_DETAIL_LINE], size_t max);

/* Writes state, time and summary in one line: "hung for 3 min 12 s: rank 5 ...". */
void ana_verdict_headline(const struct ana_verdict *verdict, char *out, size_t size);
