/* The answer of a comparison: slower, not slower, faster, or not known. */
#ifndef ANA_ANSWER_H
#define ANA_ANSWER_H

#include "trace/diff/judge.h"

/* Sets judge->quiet and judge->undisturbed from the processor time of both runs, each the mean of its ranks. */
void ana_answer_machine(struct ana_judge *judge, const struct ana_portions mean[2]);

/* Fills the answer, its measure, change, confidence and detectable difference; out->finding is filled. */
void ana_answer_find(struct ana_judge *judge, const struct ana_portions mean[2], struct ana_diff *out);

#endif
