/* Selected part of a job, and its outliers. */
#include "trace/job/window.h"
#include "trace/report/page.h"

#include <inttypes.h>

static void put_outliers(const struct ana_page *p)
{
    const struct ana_summary *s = p->s;
    char what[400], cost[200];
    ana_page_line(p, "%zu thing%s stand%s out%s", s->outlier_count, s->outlier_count == 1 ? "" : "s",
                  s->outlier_count == 1 ? "s" : "", s->outlier_count ? ":" : "");
    for (size_t i = 0; i < s->outlier_count; i++) {
        const struct ana_outlier *row = &s->outliers[i];
        ana_outlier_words(p->job, row, what, sizeof what, cost, sizeof cost);
        ana_page_line(p, "  %.3f s  rank %s  %s; %s", (double)row->at_ns / 1e9, ana_rank_label(p->job, row->index).text,
                      what, cost);
    }
    for (size_t i = 0; i < s->slow_count && i < 4; i++) {
        ana_slow_message_words(p->job, &s->slow[i], what, sizeof what);
        ana_page_line(p, "%s%s", i ? "                   " : "slowest messages:  ", what);
    }
}

void ana_page_window(struct ana_page *p)
{
    char words[400];
    ana_selection_words(p->job, &p->s->selection, words, sizeof words);
    if (!words[0])
        return;
    fprintf(p->out, "\nIN THIS WINDOW\n");
    ana_page_line(p, "what follows is of this alone: %s", words);
    if (!ana_of_all_time(&p->s->selection))
        ana_page_line(p, "%" PRIu64 " calls are cut at its edges: only the part of their time that lies inside counts",
                      p->s->cut_calls);
    if (!p->s->exact)
        put_outliers(p);
}
