#include "trace/job/window.h"
#include "trace/job/job_impl.h"
#include "trace/util/hash.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_SECONDS 1e9 /* far longer than any job */

bool ana_job_set_window(struct ana_job *job, int64_t begin_ns, int64_t end_ns)
{
    if (job->analysis.window.begin_ns == begin_ns && job->analysis.window.end_ns == end_ns)
        return true;
    job->analysis.window = (struct ana_span){begin_ns, end_ns};
    if (!job->analysis.pass.merge ||
        (ana_merge_position(job->analysis.pass.merge) == INT64_MIN && !job->analysis.indexed))
        return true;
    return ana_analysis_again(job);
}

bool ana_is_window(const struct ana_job *job, const struct ana_selection *selection)
{
    return job->analysis.window.begin_ns == selection->begin_ns && job->analysis.window.end_ns == selection->end_ns;
}

bool ana_is_followed(const struct ana_job *job, const struct ana_selection *selection)
{
    bool all = job->analysis.window.begin_ns == INT64_MIN && job->analysis.window.end_ns == INT64_MAX &&
               ana_of_all_time(selection);
    return (all || ana_is_window(job, selection)) && !selection->ranks && !ana_has_filter(selection);
}

/* ---- filter ------------------------------------------------------------------------------------------------------ */

/* Finds a communicator by its identity or its name (NULL: by identity alone), and writes its name.  Returns its
 * identity; 0: there is none. */
static uint64_t find_comm(const struct ana_job *job, uint64_t identity, const char *name, char *out, size_t size)
{
    for (size_t i = 0; i < job->members.count; i++) {
        const struct trc_comm *comm;
        for (size_t k = 0; (comm = trc_comm_at(job->members.process[i].rank.file, k, &(uint64_t){0})); k++) {
            uint64_t own = ana_comm_identity(job, i, comm);
            const char *path = comm->object && comm->object->is_file ? comm->object->name : NULL;
            ana_comm_words(job, comm, out, size);
            const char *brief = strncmp(out, "MPI_COMM_", 9) == 0 ? out + 9 : out;
            bool is_path = name && path && strcmp(path, strncmp(name, "file ", 5) == 0 ? name + 5 : name) == 0;
            bool named = name && (strcasecmp(out, name) == 0 || strcasecmp(brief, name) == 0);
            if (own && (own == identity || named || is_path))
                return own;
        }
    }
    return 0;
}

uint64_t ana_comm_of_text(const struct ana_job *job, const char *text)
{
    char words[128];
    size_t length = strlen(text);
    for (size_t i = 0; i < job->members.comm_names.count; i++) { /* name in summaries */
        char *const *name = ana_map_value(&job->members.comm_names, i);
        if (*name &&
            (strcmp(*name, text) == 0 || (*text == '#' && strncmp(*name, text, length) == 0 && (*name)[length] == ' ')))
            return ana_map_key(&job->members.comm_names, i)[0];
    }
    return *text == '#' ? 0 : find_comm(job, 0, text, words, sizeof words);
}

uint64_t ana_call_of_text(const struct ana_job *job, const char *text)
{
    for (size_t i = 1; i < job->members.calls; i++) {
        const char *name = job->members.call[i].name, *brief = strncmp(name, "MPI_", 4) == 0 ? name + 4 : name;
        if (strcasecmp(name, text) == 0 || strcasecmp(brief, text) == 0)
            return ana_hash_text(name);
    }
    return 0;
}

/* ---- typed words ------------------------------------------------------------------------------------------------- */

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

/* ---- words to show ----------------------------------------------------------------------------------------------- */

/* Adds a part to a list of words. */
static void add_words(char *out, size_t size, const char *words)
{
    size_t used = strlen(out);
    if (words[0])
        snprintf(out + used, size - used, "%s%s", used ? ", " : "", words);
}

/* Adds the words of a filter: "on ring, MPI_Send, from one place". */
static void add_filter(const struct ana_job *job, const struct ana_selection *s, char *out, size_t size)
{
    char name[160] = "", words[200];
    char *const *known = s->comm ? ana_map_find(&job->members.comm_names, s->comm, 0, 0) : NULL;
    if (known && *known)
        snprintf(name, sizeof name, "%s", *known);
    else if (s->comm)
        find_comm(job, s->comm, NULL, name, sizeof name);
    snprintf(words, sizeof words, "on %s", name);
    if (s->comm)
        add_words(out, size, words);
    for (size_t i = 0; s->call && i < job->members.calls; i++)
        if (ana_hash_text(job->members.call[i].name) == s->call) {
            snprintf(words, sizeof words, "%s", job->members.call[i].name);
            add_words(out, size, words);
        }
    if (s->site)
        add_words(out, size, "from one place");
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
    size_t *index = s->ranks ? calloc(job->members.count + 1, sizeof *index) : NULL, n = 0;
    for (size_t i = 0; index && i < job->members.count; i++)
        if (s->ranks[i])
            index[n++] = i;
    ana_rank_list(job, index, n, words, sizeof words);
    if (index)
        add_words(out, size, words);
    free(index);
    add_filter(job, s, out, size);
}

struct ana_span ana_known_time(const struct ana_job *job, size_t index)
{
    const struct ana_process *p = &job->members.process[index];
    struct ana_span known = {p->rank.begin_ns, p->rank.end_ns};
    if (p->recycled) {
        known.begin_ns = INT64_MAX;
        for (size_t c = 0; c < trc_event_chunks(p->rank.file); c++) {
            uint64_t first = trc_event_chunk(p->rank.file, c).first_ticks;
            int64_t ns = ana_clock_job_time(job->members.clock, index, first);
            known.begin_ns = ns < known.begin_ns ? ns : known.begin_ns;
        }
    }
    int64_t seen = job->analysis.pass.done ? job->members.horizon_ns : INT64_MIN;
    if (!job->analysis.pass.done && job->analysis.pass.merge)
        seen = ana_merge_position(job->analysis.pass.merge);
    if (seen < known.end_ns)
        known.end_ns = seen;
    return known;
}

int64_t ana_time_range_until(const struct ana_job *job)
{
    const struct ana_time_range *w = &job->range;
    return !w->open || w->pass.done ? job->members.horizon_ns : ana_merge_position(w->pass.merge);
}
