/* Declarations shared by the files of the headline; no other file includes this. */
#pragma once

#include "trace/headline/headline.h"
#include "trace/summary/summary.h"
#include "trace/util/numfmt.h"
#include "trace/verdict/straggler.h"
#include "trace/verdict/verdict.h"

struct ana_line {
    char *out;
    size_t size;
};
/* A number as text: ana_share(0.25).text is "25.0%", ana_time(2e9).text "2.0 s". */
struct ana_figure {
    char text[ANA_TEXT];
};
/* A share as text. */
static inline struct ana_figure ana_share(double share)
{
    struct ana_figure out;
    ana_number(out.text, sizeof out.text, ANA_SHARE, share, false);
    return out;
}
/* A duration as text. */
static inline struct ana_figure ana_time(double ns)
{
    struct ana_figure out;
    ana_spoken(out.text, sizeof out.text, ns);
    return out;
}
/* Writes the line; text that does not fit is cut. */
void ana_line_write(struct ana_line line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* loss.c: writes whom ranks wait for, and how much that matters.  False: nothing stands out, nothing was
 * written. */
bool ana_write_loss(const struct ana_job *job, const struct ana_summary *s, struct ana_line line,
                    enum ana_weight *weight);
/* Whether the run would hardly be shorter without what a price is for: a late rank waits itself for what makes the
 * others wait.  False: not known. */
bool ana_saves_little(const struct ana_summary *s, const struct ana_price *price);
/* Writes the elapsed time that a price would save: "costs 371 ms of 1.9 s".  price NULL, or not final yet: the share of
 * their time that the ranks in view lose waiting, "all lose 11.3% of this window". */
void ana_write_cost(const struct ana_job *job, const struct ana_summary *s, const struct ana_price *price,
                    double lost_share, char *out, size_t size);
/* Returns the price of a segment, where it is for the ranks of `late` alone; NULL: unknown, or others have a part. */
const struct ana_price *ana_late_price(const struct ana_summary *s, const struct ana_segment_stat *segment,
                                       const struct ana_late *late);
/* Returns the largest price of a segment in which particular ranks are slower than the others; NULL: unknown, or
 * small. */
const struct ana_price *ana_worst_price(const struct ana_summary *s);
/* Words for the span that the shares of a sentence refer to, where it is not the run: " so far". */
const char *ana_span_words(const struct ana_summary *s);
/* Whether `ns`, summed over the ranks, is worth a headline of the whole run, MPI_Init and MPI_Finalize included: losses
 * of milliseconds in a program that starts and ends are not.  Always true of a part of the run. */
bool ana_is_much(const struct ana_summary *s, double ns);
/* account.c: whether a whole run spends most of its time in MPI_Init and MPI_Finalize. */
bool ana_is_mostly_start(const struct ana_summary *s);
/* The share of the ranks' analysed time that they lost waiting for others; NAN unknown. */
double ana_lost_share(const struct ana_summary *s);

/* account.c: writes the largest account of time but computing and waiting, with its cause.  False: it is
 * small, or less than the ranks wait for each other; nothing was written. */
bool ana_write_account(const struct ana_job *job, const struct ana_summary *s, struct ana_line line);
/* account.c: whether waiting for processors explains more than late ranks do. */
bool ana_is_crowded(const struct ana_job *job, const struct ana_summary *s);
/* account.c: writes which rank was stopped for longest, and when.  False: none was for long. */
bool ana_write_still(const struct ana_job *job, const struct ana_summary *s, struct ana_line line);
/* account.c: writes how long ranks are asleep outside calls.  False: hardly ever. */
bool ana_write_asleep(const struct ana_summary *s, struct ana_line line);

/* Finds what ranks do between two calls that makes the others wait, and writes a sentence about it.  False: no segment
 * stands out, or it is not known. */
bool ana_late_segment(const struct ana_job *job, const struct ana_summary *summary, struct ana_late *late, char *out,
                      size_t size);
/* Finds the late ranks by ana_late_segment, else the rank that others wait for most in collectives, and writes a
 * sentence about it. False: nobody stands out. */
bool ana_late_rank(const struct ana_job *job, const struct ana_summary *s, struct ana_late *out, char *text,
                   size_t size);
