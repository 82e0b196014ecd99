/* The headline: the first line of screens and report, with the trouble of the job and its place.  Sources are the
 * verdict, and the account of time and the segments of a summary. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ana_gpu_summary;
struct ana_job;
struct ana_reason;
struct ana_segment_stat;
struct ana_summary;
struct ana_upper;

/* Weight of a headline. */
enum ana_weight { ANA_FINE, ANA_NOTABLE, ANA_TROUBLE };
/* Writes the headline: the trouble, and its place; always a sentence. `gpu` is of the summary's selection (NULL: for
 * the whole run it is looked up, else it is unknown). Returns its weight. */
enum ana_weight ana_headline(const struct ana_job *job, const struct ana_summary *summary,
                             const struct ana_gpu_summary *gpu, char *out, size_t out_size);
/* Writes the headline of a job that has finished without trouble, from heads and live pages alone: damage, missing
 * ranks, else the number of ranks that finished.  `counters`: of ana_summarize_counters.  Returns ANA_NOTABLE or
 * ANA_FINE. */
enum ana_weight ana_headline_finished(const struct ana_job *job, const struct ana_summary *counters, char *out,
                                      size_t out_size);
/* Whether heads and live pages prove that the events cannot change a verdict of `healthy`: all ranks finalized with
 * complete files, and calls took too little time for any rank to count as late.  `counters`: of
 * ana_summarize_counters. */
bool ana_finished_well(const struct ana_job *job, const struct ana_summary *counters);
/* Writes whom ranks wait for, or how uneven their work is, where the headline says which other account takes the time.
 * False: the headline says all; nothing was written. */
bool ana_headline_also(const struct ana_job *job, const struct ana_summary *summary, char *out, size_t size);
/* Reason why the worst rank of a segment takes longer: as a rule or, where it does not, why it once took longest.
 * `ranks`: of the job. */
const struct ana_reason *ana_segment_reason(const struct ana_segment_stat *segment, size_t ranks);
/* Enters the search for late ranks into the table of trace/job. */
void ana_headline_enter(struct ana_upper *upper);
