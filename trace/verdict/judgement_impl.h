/* Knowledge about a job kept from one verdict to the next. For trace/verdict only. */
#pragma once

#include "trace/relations/clock.h"
#include "trace/verdict/case_impl.h"
#include "trace/verdict/straggler.h"

struct ana_epochs;
struct ana_last_events;

struct ana_rank_sample {
    uint64_t calls, progress, cpu, io, queued;
};

/* Samples of a running job, kept by it. */
struct ana_samples {
    unsigned taken, generation;
    int64_t at_ns[2]; /* older and newest, by the reader's clock */
    struct ana_rank_sample *seen[2];
    size_t count;
};

/* A verdict, and how many keep it. */
struct ana_held_verdict {
    struct ana_verdict verdict; /* first: who holds it has its address */
    unsigned holders;
};

/* Data read of a rank for an earlier verdict, and its basis. */
struct ana_known {
    struct ana_last_events *events; /* events kept of a watched job; NULL: none */
    uint64_t revision;              /* revision of the file */
    struct ana_clock_line line;     /* clock line by which its times were made */
    struct ana_epochs *epochs;      /* NULL: nobody has asked */
};

/* Knowledge about a job kept from one verdict to the next. */
struct ana_judgement {
    struct ana_known *known; /* indexed by rank */
    size_t known_ranks;
    unsigned known_generation; /* generation of the job's rank indices */
    struct ana_verdict_rules rules;
    struct ana_samples samples;
    struct ana_straggler straggler;
    struct ana_held_verdict *held; /* NULL: none was made yet */
    unsigned revision;             /* revision of the job, when it was made */
    int64_t quiet_due_ns; /* time when a host will have been silent for long, by CLOCK_MONOTONIC; INT64_MAX: none */
};

/* samples.c */
/* Adds a sample of a running job, if the last one is half a second old. */
void ana_samples_add(struct ana_job *job);
/* The share of a core that a rank used between the samples; NAN unknown. */
double ana_samples_cpu(const struct ana_case *c, size_t index);
/* The share of the time between the samples that its main thread was ready to run and had no processor; NAN unknown. */
double ana_samples_queued(const struct ana_case *c, size_t index);
/* The bytes a second that it read and wrote between the samples; NAN unknown. */
double ana_samples_io(const struct ana_case *c, size_t index);

/* verdict.c */
/* Judges the job as it is known now.  False: out of memory, nothing to free.  Else free with ana_verdict_free. */
bool ana_judge(const struct ana_job *job, struct ana_verdict *out);
void ana_verdict_free(struct ana_verdict *verdict); /* its contents */

/* known.c */
/* Data known of a rank; NULL: out of memory. */
struct ana_known *ana_known_of(const struct ana_case *c, size_t index);
/* Frees the data of all ranks. */
void ana_known_forget(struct ana_judgement *judgement);
