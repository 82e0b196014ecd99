/* Errors of a program that did not bite in the recorded run, but are errors by MPI's rules.  Findings follow from
 * records alone: ranks that ran, matches, leftovers.  Pure: a job in, findings out. */
#pragma once

#include "trace/summary/summary.h"

enum ana_check_class {
#define CHECK_CLASS(id, name, weight, text) ANA_CHECK_##id,
#include "trace/check/check_class.def"
    ANA_CHECK_CLASSES
};

enum ana_check_weight { ANA_CHECK_WEIGHT_ERROR, ANA_CHECK_WEIGHT_NOTE };

/* The classes: a name, as in texts and JSON; an error of the program, or only worth a look; a description. */
extern const struct ana_check_row {
    const char *name;
    enum ana_check_weight weight;
    const char *text;
} ana_check_rows[ANA_CHECK_CLASSES];

/* A call at a place in the program. */
struct ana_place {
    const char *call; /* "MPI_Send" */
    const char *site; /* "app.c:17"; where lines are not known "function+0x12" or "module+0x34"; "" unknown */
};

/* An error, wherever and whenever it shows at the same places. */
struct ana_finding {
    enum ana_check_class id;
    const struct ana_place *place; /* each once, in order of call and site */
    size_t places;
    const size_t *rank; /* rank indices of all who took part, rising */
    size_t ranks;
    uint64_t times;
    const char *detail; /* the first occurrence, in words: "roots 0 and 1"; "" none */
};

struct ana_findings {
    struct ana_finding *finding; /* errors before notes, then by class, places */
    size_t count;
    size_t errors;            /* of these */
    uint64_t calls;           /* number of calls looked at */
    const char *const *limit; /* parts that could not be checked, and the reason: one line each */
    size_t limits;
};

/* Checks all events that the files have; the job must have ended, or what still runs is not judged.  NULL: out of
 * memory.  Free with ana_findings_free, before the job is closed. */
const struct ana_findings *ana_check(struct ana_job *job);
/* Frees findings with all that they point to; NULL is none. */
void ana_findings_free(const struct ana_findings *findings);
