/* The job itself; for the files of this folder alone. */
#pragma once

#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/filter.h"
#include "trace/job/late.h"
#include "trace/job/site_words.h"
#include "trace/sums/sums.h"
#include "trace/job/upper.h"
#include "trace/job/window.h"
#include "trace/relations/readers.h"
#include "trace/relations/waits.h"

struct ana_job {
    struct ana_upper upper;
    struct ana_members members;
    struct ana_job_info info; /* job at the last refresh; its state is without the verdict */
    struct ana_analysis analysis;
    struct ana_time_range range;
    char **warning;
    size_t warnings;
    bool at_rest; /* it has ended, and the last look at all of it found nothing new */

    size_t clocks;               /* domains of the clock when the analysis began */
    bool clock_is_growing;       /* it may be fitted again: by messages and collectives that are still found */
    struct ana_pass bounds_pass; /* several hosts: a first pass over the events only gives the clock its bounds */
    struct ana_match *bounds_match;
    int64_t next_fit_ns;       /* next fit in a running job, by the reader's clock */
    int64_t reached_ns;        /* common progress of all events, as last emitted */
    unsigned unsettled;        /* events since then */
    bool lack_told;            /* a warning reports gaps in the sums */
    struct ana_queue pipeline; /* events to a thread that relates them (pipeline.h); of size 0: it is done at once */
    struct ana_wait_clip *clip;
    struct ana_late_waits late;
    struct ana_wait_span *span; /* room for one instance's */
    size_t spans;
    struct ana_sums sums;         /* sums of the pass over all events */
    unsigned workers;             /* threads that analyse events, this one among them */
    struct ana_part_source parts; /* reader of all events; without parts: this process reads them as it needs them */
    bool only_bounds_in_parts;    /* ... only in the pass for the clocks */
    struct ana_readers *readers;  /* threads that are that; NULL: there are none */
    ana_line_finder *line_finder;
    ana_name_finder *name_finder;
    void *line_context;
    struct ana_hvd_state *horovod;   /* of trace/horovod */
    struct ana_judgement *judgement; /* of trace/verdict */
};

/* job.c */
/* Collects anew the text of ana_job_warning. */
void ana_collect_warnings(struct ana_job *job);

/* count.c: the sink for a match of all events: it stores and adds up the relations. */
struct ana_match_sink ana_job_sink(struct ana_job *job);
/* count.c: counts the waits of a slice that is over.  The thread that finds relations calls it. */
void ana_count_late(struct ana_job *job);

/* advance.c */
/* Starts the analysis of events anew, for the processes as they are now.  False: out of memory. */
bool ana_analysis_start(struct ana_job *job);
/* Frees all that the analysis has found; before the processes change. */
void ana_analysis_stop(struct ana_job *job);
/* Adds new records, after the files were refreshed. */
void ana_analysis_refresh(struct ana_job *job);
