/* What the files of the answer share; nobody else's. */
#ifndef ANA_HEADLINE_IMPL_H
#define ANA_HEADLINE_IMPL_H

#include "trace/verdict/verdict_impl.h"

struct ana_line {
    char *out;
    size_t size;
};
void ana_line_say(struct ana_line line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* headline_loss.c: who is waited for.  False: nothing of it stands out, and nothing was said. */
bool ana_say_loss(const struct ana_job *job, const struct ana_summary *s, struct ana_line line,
                  enum ana_weight *weight);
/* Of the ranks' time, as far as it was analysed, what they lost waiting for others; NAN unknown. */
double ana_lost_share(const struct ana_summary *s);

#endif
