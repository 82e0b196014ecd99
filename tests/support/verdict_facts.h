/* Facts of a verdict as fields: tests compare these, so that wording may change. */
#ifndef TESTS_VERDICT_FACTS_H
#define TESTS_VERDICT_FACTS_H

#include "trace/job/job.h"
#include "trace/verdict/verdict.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Writes a fact's kind and values: "NOT_COME; who=2,3; call=MPI_Barrier; count=2". */
static inline void fact_fields(const struct ana_job *job, const struct ana_verdict_fact *fact, char *out, size_t size)
{
    FILE *to = fmemopen(out, size, "w");
    fprintf(to, "%s", fact->id);
    for (size_t i = 0; i < fact->values; i++) {
        const struct ana_verdict_value *value = &fact->value[i];
        fprintf(to, "; %s=", value->name);
        for (size_t k = 0; value->kind == ANA_VALUE_RANKS && k < value->ranks; k++)
            fprintf(to, "%s%d", k ? "," : "", ana_job_rank(job, value->rank[k])->rank);
        if (value->kind == ANA_VALUE_TEXT)
            fprintf(to, "%s", value->text);
        else if (value->kind == ANA_VALUE_REAL)
            fprintf(to, "%.2f", value->real);
        else if (value->kind != ANA_VALUE_RANKS)
            fprintf(to, "%" PRId64, value->number);
    }
    fclose(to);
}

/* Whether a fact has all fields, in any order: "NOT_COME; count=2". */
static inline bool fact_has(const struct ana_job *job, const struct ana_verdict_fact *fact, const char *fields)
{
    char got[1024], one[256];
    fact_fields(job, fact, got + 2, sizeof got - 4);
    memcpy(got, "; ", 2);
    strcat(got, "; ");
    for (size_t n; *fields; fields += n + 2 * (fields[n] != 0)) {
        const char *end = strstr(fields, "; ");
        n = end ? (size_t)(end - fields) : strlen(fields);
        snprintf(one, sizeof one, "; %.*s; ", (int)n, fields);
        if (!strstr(got, one))
            return false;
    }
    return true;
}

#endif
