/* One time for the job: brings the clocks of all hosts to the clock of the first rank's host.
 *
 * Files that share a boot (boot_id, or the host's name where that is empty) and a time namespace share CLOCK_MONOTONIC:
 * they are one domain, and differ only by the error of their anchors.  A file whose realtime clock stands otherwise
 * against its monotonic one (ANA_CLOCK_NAMESPACE_NS) is in another time namespace, or another machine after all.
 * Between two domains A and B the offset theta(t) = clock_B - clock_A is first taken
 * from the realtime anchors (good to what NTP holds: ANA_CLOCK_NTP_NS), then bounded by causality: an event in B
 * after one in A gives theta <= t_B - t_A, an event in A after one in B gives theta >= t_B - t_A.
 * Messages (received after sent; a synchronous send complete after its receive was posted) and collectives (nobody
 * leaves before the last has come) are such pairs.
 *
 * Fit: the tightest bounds of each stretch of time are kept (ANA_CLOCK_BINS bins, their width doubles as time goes
 * on).  Among all lines a + b t the one is taken that stays farthest from all bounds: for a given drift b the room is
 * s(b) = (min(upper - b t) - max(lower - b t)) / 2 and a is its middle; s is concave, so a search finds its maximum.
 * The drift of smallest size that keeps nine tenths of that room is used, so that short traces get no imaginary
 * drift.  The residual uncertainty is the distance to the farthest of all lines that the bounds leave (drift up to
 * 500 ppm) at either end of the run; the size of s, when clocks did not run on a line and s is negative.
 * This is the classic corridor of two-way message bounds (Duda, Harrus, Haddad, Bernard: "Estimating global time in
 * distributed systems", ICDCS 1987).  Domains are reached from domain 0 along the ways of least summed
 * uncertainty.
 *
 * Indices number the ranks' files; index 0 is the reference: job time 0 is the moment when its file was made. */
#pragma once

#include "trace/relations/relations.h"
#include "trace/util/archive.h"

#define ANA_CLOCK_NTP_NS 10e6 /* uncertainty of realtime clocks of different hosts */
#define ANA_CLOCK_NAMESPACE_NS                                                                                         \
    5000000 /* larger differences of realtime less monotonic on one host mean another time namespace */
#define ANA_CLOCK_BINS 64
#define ANA_CLOCK_FAR  1e18 /* ns; no time is farther from its file's start */

struct ana_clock;

/* A clock without files; NULL: out of memory.  Free with ana_clock_free. */
struct ana_clock *ana_clock_new(void);
/* Frees it; NULL is none. */
void ana_clock_free(struct ana_clock *clock);

/* Adds the next index (0, 1, 2 ...) with the head of its file and the length of its tick in ns.  False: out of memory.
 */
bool ana_clock_add(struct ana_clock *clock, const struct trc_head *head, double ns_per_tick);

/* Sets the length of a tick, in ns, which is known better now.  Times that were given out before keep their small
 * error. */
void ana_clock_set_tick(struct ana_clock *clock, size_t index, double ns_per_tick);

/* Adds the next index, for an open file.  False: out of memory. */
static inline bool ana_clock_add_file(struct ana_clock *clock, const struct trc_file *file)
{
    return ana_clock_add(clock, trc_head(file), trc_ns_per_tick(file));
}
/* Sets the length of a tick of an open file; call it after trc_refresh. */
static inline void ana_clock_update_file(struct ana_clock *clock, size_t index, const struct trc_file *file)
{
    ana_clock_set_tick(clock, index, trc_ns_per_tick(file));
}

/* The job time, in ns, of a file's ticks.  Linear in each file between two fits. */
int64_t ana_clock_job_time(const struct ana_clock *clock, size_t index, uint64_t ticks);
/* The ticks of a file at a job time in ns. */
uint64_t ana_clock_ticks(const struct ana_clock *clock, size_t index, int64_t job_ns);

/* A file's job time as a line, to convert many ticks: job = job_ns + (ticks - base) * rate, rounded to the nearest.
 * Valid until the next fit or change of the tick's length. */
struct ana_clock_line {
    uint64_t base;
    uint64_t near; /* number of ticks after `base` that are less than half of ANA_CLOCK_FAR */
    int64_t job_ns;
    double rate;
};
/* The line of a file. */
struct ana_clock_line ana_clock_line(const struct ana_clock *clock, size_t index);
/* Converts ticks by a line, to job time in ns.  Damaged ticks give a far time, without overflow. */
static inline int64_t ana_clock_apply(const struct ana_clock_line *line, uint64_t ticks)
{
    uint64_t passed = ticks - line->base;
    double ns = (double)(int64_t)passed * line->rate;
    if (__builtin_expect(passed < line->near, 1))
        return line->job_ns + (int64_t)(ns + 0.5);
    if (!(ns > -ANA_CLOCK_FAR && ns < ANA_CLOCK_FAR)) /* damaged ticks: far away, but without overflow */
        ns = ns < 0 ? -ANA_CLOCK_FAR : ANA_CLOCK_FAR;
    return line->job_ns + (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* Adds a bound: what happened at `later_ns` on one rank was after what happened at `earlier_ns` on another.  Job times
 * as given out since the last fit.  Ignored between ranks of one domain, and when older than the last fit. */
void ana_clock_add_order(struct ana_clock *clock, size_t earlier, int64_t earlier_ns, size_t later, int64_t later_ns);
/* Adds the bounds that a message gives: it arrived after it was sent. */
void ana_clock_add_message(struct ana_clock *clock, const struct ana_message *message);
/* Adds the bounds that a collective gives: nobody left before the last one came, where all wait for all. */
void ana_clock_add_instance(struct ana_clock *clock, const struct ana_instance *instance);

/* Fits all domains to the bounds so far.  Job times change with it: `now_ns` is the latest job time given out before
 * (bounds with an older time are ignored from now on, since they may mix both fits).  Whoever reads a finished job of
 * several domains goes through the events twice: first for the bounds, then, with now_ns = INT64_MIN, for good.
 * Returns the largest change of any domain's offset in ns (0 with one domain). */
int64_t ana_clock_fit(struct ana_clock *clock, int64_t now_ns);

/* Result of the fit for one domain. */
struct ana_clock_domain {
    size_t first_index; /* index of its first file */
    size_t files;
    int64_t offset_ns;   /* CLOCK_MONOTONIC less domain 0's, at its first file's start */
    int64_t realtime_ns; /* CLOCK_REALTIME less domain 0's, at the same instant: error left by NTP */
    double drift_ppm;    /* rate by which it runs faster than domain 0 */
    double error_ns;     /* residual uncertainty of the offset to domain 0 */
    bool fitted;         /* fitted by bounds in both directions; else by the realtime anchors */
};
/* Returns the number of domains. */
size_t ana_clock_domains(const struct ana_clock *clock);
/* Domain i < ana_clock_domains(clock), as of the last fit. */
struct ana_clock_domain ana_clock_domain(const struct ana_clock *clock, size_t domain);
/* The domain of a file's index. */
size_t ana_clock_domain_of(const struct ana_clock *clock, size_t index);

/* Returns how far the times of two ranks may be apart, in ns: within a domain by the error of their anchors, else by
 * the fit. */
double ana_clock_error_ns(const struct ana_clock *clock, size_t a, size_t b);
/* The largest such uncertainty of any two ranks; NAN without files. */
double ana_clock_worst_error_ns(const struct ana_clock *clock);

/* Fit of a domain: for another process that has the same files, added in the same order. */
struct ana_clock_fitted {
    int64_t mono_ns, job_ns;
    double rate, error_ns;
    uint64_t fitted;
};
/* Returns the fit of domain i < ana_clock_domains(clock). */
struct ana_clock_fitted ana_clock_fitted(const struct ana_clock *clock, size_t domain);
/* Sets the fit of domain i. */
void ana_clock_set_fitted(struct ana_clock *clock, size_t domain, const struct ana_clock_fitted *fitted);
/* Forgets the fit: all domains are placed by their realtime anchors, as at first. */
void ana_clock_again(struct ana_clock *clock);
/* Saves the fit of the domains, or loads it: of the same files, added in the same order. */
void ana_clock_archive(struct ana_archive *archive, struct ana_clock *clock);
