/* Facts as sentences.  For trace/verdict only. */
#pragma once

#include "trace/verdict/fact.h"

struct ana_case;

/* Writes the sentence of a fact of this finding; "" for ANA_SENTENCE_NOTHING. */
void ana_render(const struct ana_case *c, const struct ana_finding *finding, const struct ana_fact *fact, char *out,
                size_t size);
/* Makes a fact that outlives the case: its sentence, and the values that the sentence tells.  False: out of memory;
 * *out is then empty.  Free with ana_verdict_fact_free. */
bool ana_render_fact(const struct ana_case *c, const struct ana_finding *finding, const struct ana_fact *fact,
                     struct ana_verdict_fact *out);
/* Frees what a fact has; the struct is the caller's. */
void ana_verdict_fact_free(struct ana_verdict_fact *fact);
