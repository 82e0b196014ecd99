#include "trace/job/window.h"
#include "trace/job/job_impl.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SECONDS 1e9 /* far longer than any job */

bool ana_job_set_window(struct ana_job *job, int64_t begin_ns, int64_t end_ns)
{
    if (job->window.begin_ns == begin_ns && job->window.end_ns == end_ns)
        return true;
    job->window = (struct ana_span){begin_ns, end_ns};
    if (!job->pass.merge || ana_merge_position(job->pass.merge) == INT64_MIN)
        return true;
    ana_analysis_stop(job);
    bool ok = ana_analysis_start(job);
    ana_analysis_refresh(job);
    return ok;
}

bool ana_is_window(const struct ana_job *job, const struct ana_selection *selection)
{
    return job->window.begin_ns == selection->begin_ns && job->window.end_ns == selection->end_ns;
}

bool ana_is_followed(const struct ana_job *job, const struct ana_selection *selection)
{
    bool all = job->window.begin_ns == INT64_MIN && job->window.end_ns == INT64_MAX && ana_of_all_time(selection);
    return (all || ana_is_window(job, selection)) && !selection->ranks;
}

/* ---- as it is typed --------------------------------------------------------------------------------------------- */

bool ana_moment_of_text(const char *text, int64_t *ns)
{
    double seconds = 0;
    for (int part = 0;; part++) {
        char *end;
        if (*text < '0' || *text > '9') /* no sign, no "inf", no hexadecimal number without digits */
            return false;
        double value = strtod(text, &end);
        seconds = seconds * 60 + value;
        if (*end == ':' && part < 2 && value == floor(value)) {
            text = end + 1;
            continue;
        }
        if (*end || !(seconds <= MOST_SECONDS) || (part && value >= 60))
            return false;
        *ns = (int64_t)llround(seconds * 1e9);
        return true;
    }
}

/* Reads one number of a rank, and moves the text on.  False: there is none. */
static bool read_number(const char **text, long *number)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *number = strtol(*text, &end, 10);
    *text = end;
    return *number <= INT32_MAX;
}

/* Selects ranks from .. to of a world; false: the job does not have them all. */
static bool select_ranks(const struct ana_job *job, uint32_t world, long from, long to, uint8_t *ranks, char *error,
                         size_t size)
{
    for (long rank = from; rank <= to; rank++) {
        size_t index = ana_index_of_rank(job, world, (int32_t)rank);
        if (index == SIZE_MAX) {
            struct ana_label label = ana_label_of((struct ana_rank_id){world, (int32_t)rank, 0});
            snprintf(error, size, "there is no rank %s in this trace", label.text);
            return false;
        }
        ranks[index] = 1;
    }
    return true;
}

bool ana_ranks_of_text(const struct ana_job *job, const char *text, uint8_t *ranks, char *error, size_t size)
{
    const char *at = text;
    for (;; at++) {
        long world = 0, from, to;
        bool named = *at == 'w' && at++;
        bool ok = !named || (read_number(&at, &world) && *at++ == ':');
        ok = ok && read_number(&at, &from);
        to = from = ok ? from : 0;
        if (ok && *at == '-')
            ok = (at++, read_number(&at, &to));
        if (!ok || to < from || (*at && *at != ',')) {
            snprintf(error, size, "%.60s is no list of ranks, such as 0-3,7", text);
            return false;
        }
        if (!select_ranks(job, (uint32_t)world, from, to, ranks, error, size))
            return false;
        if (!*at)
            return true;
    }
}

/* ---- as it is told ---------------------------------------------------------------------------------------------- */

/* Adds a part to a list of words. */
static void add_words(char *out, size_t size, const char *words)
{
    size_t used = strlen(out);
    if (words[0])
        snprintf(out + used, size - used, "%s%s", used ? ", " : "", words);
}

void ana_selection_words(const struct ana_job *job, const struct ana_selection *s, char *out, size_t size)
{
    char words[200] = "";
    *out = 0;
    if (s->end_ns != INT64_MAX)
        snprintf(words, sizeof words, "%.9g s to %.9g s", (double)s->begin_ns / 1e9, (double)s->end_ns / 1e9);
    else if (!ana_of_all_time(s))
        snprintf(words, sizeof words, "from %.9g s on", (double)s->begin_ns / 1e9);
    add_words(out, size, words);
    size_t *index = s->ranks ? calloc(job->count + 1, sizeof *index) : NULL, n = 0;
    for (size_t i = 0; index && i < job->count; i++)
        if (s->ranks[i])
            index[n++] = i;
    ana_rank_list(job, index, n, words, sizeof words);
    if (index)
        add_words(out, size, words);
    free(index);
}
