#include "tui/output/inspect.h"
#include "tui/output/sentences_impl.h"
#include "trace/job/inside.h"
#include "trace/job/site_words.h"
#include "trace/util/numfmt.h"
#include "trace/util/spans.h"
#include "tui/output/json.h"
#include "tui/sources/lines.h"

#include <inttypes.h>

enum { ROW = 512 };

/* Finds the iteration of the loop that takes most of the run. */
static void find_iteration(const struct ana_job *job, const struct ana_iterations *of, struct tui_moment *out)
{
    struct ana_span span;
    uint64_t number = of->levels ? ana_iteration_at(job, of, of->level, out->index, out->at_ns) : 0;
    if (!number || !ana_iteration_span(job, of, of->level, number, number, &span.begin_ns, &span.end_ns) ||
        out->at_ns < span.begin_ns || out->at_ns >= span.end_ns)
        return;
    out->iteration = number;
    out->iterations = of->loop[of->level].count;
}

void tui_inspect(struct ana_job *job, const struct ana_summary *summary, size_t index, int64_t at_ns,
                 struct tui_moment *out)
{
    *out = (struct tui_moment){.index = index, .at_ns = at_ns};
    struct ana_state_at *s = &out->state;
    if (ana_state_at(job, index, at_ns, s))
        find_iteration(job, &summary->iterations, out);
    if (s->waited_ns > 0)
        ana_state_at(job, s->wait.culprit, s->wait.begin_ns + (s->wait.end_ns - s->wait.begin_ns) / 2, &out->culprit);
    const char *place = s->path.n ? tui_line_of(ana_job_rank(job, index)->file, s->path.site[s->place]) : NULL;
    tui_source_read(place, ana_job_info(job).start_realtime_ns, &out->source);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Returns the time of the call, or between two. */
static struct ana_span span_of(const struct ana_state_at *s)
{
    return s->covers ? (struct ana_span){s->begin_ns, s->end_ns} : (struct ana_span){s->end_ns, s->until_ns};
}

void tui_inspect_doing(const struct ana_job *job, size_t index, const struct ana_state_at *s, char *out, size_t size)
{
    char words[ANA_CALLER] = "", number[ANA_TEXT];
    struct ana_span span = span_of(s);
    uint64_t bytes = s->sig.sent > s->sig.received && s->sig.sent != TRC_BYTES_UNKNOWN ? s->sig.sent : s->sig.received;
    size_t n = 0;
    *out = 0;
    if (s->unknown) {
        ana_append(out, size, &n, "unknown: %s", s->unknown);
        return;
    }
    if (s->call)
        ana_call_words(job, index, s->call, &s->sig, words, sizeof words);
    ana_spoken(number, sizeof number, (double)(span.end_ns - span.begin_ns));
    if (s->covers)
        ana_append(out, size, &n, "in %s, %s%s", words, number, s->open ? " so far" : "");
    else
        ana_append(out, size, &n, "outside MPI %s%s%s", number, s->call ? ", after " : "", words);
    if (s->covers && s->polls > 1)
        ana_append(out, size, &n, " in %" PRIu64 " polls", s->polls);
    if (s->covers && bytes && bytes != TRC_BYTES_UNKNOWN)
        ana_append(out, size, &n, ", %s", ANA_NUMBER(ANA_BYTES, (double)bytes, true));
    if (s->path.n) {
        ana_caller_words(job, index, s->path.site[s->place], words, sizeof words);
        ana_append(out, size, &n, " at %s", words);
    }
    if (s->region[0])
        ana_append(out, size, &n, "; in %s", s->region);
}

void tui_inspect_partners(const struct ana_job *job, const struct ana_state_at *s, char *out, size_t size)
{
    int64_t ahead = s->other_begin_ns - s->begin_ns;
    size_t n = 0;
    *out = 0;
    if (s->sig.flags & TRC_SIG_COLL)
        ana_append(out, size, &n, "%s #%" PRIu64 ": ", s->comm_name ? s->comm_name : "?", s->sequence);
    if (s->sig.flags & TRC_SIG_COLL && s->last_index < 0)
        ana_append(out, size, &n, SAY_NOT_ALL_OF);
    else if (s->sig.flags & TRC_SIG_COLL)
        ana_append(out, size, &n, SAY_RANK_CAME_LAST, ana_rank_label(job, (size_t)s->last_index).text,
                   ANA_SPOKEN((double)s->late_ns));
    else if (s->has_other_end)
        ana_append(out, size, &n, SAY_ITS_OTHER_END_RANK, ana_rank_label(job, s->other_index).text,
                   ANA_SPOKEN((double)(ahead < 0 ? -ahead : ahead)), ahead < 0 ? "earlier" : "later");
    else if (s->sig.flags & (TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN))
        ana_append(out, size, &n, SAY_ITS_OTHER_END);
}

/* Writes out the time that the call lost waiting, and the activity of the rank that caused it. */
static void put_wait(const struct ana_job *job, const struct tui_moment *of, tui_inspect_row *row, void *user)
{
    const struct ana_state_at *s = &of->state;
    char text[ROW], doing[ROW / 2];
    if (s->waited_ns <= 0) {
        row(user, "waited", s->waited_ns ? "unknown" : "for nobody");
        return;
    }
    const struct ana_label culprit = ana_rank_label(job, s->wait.culprit);
    snprintf(text, sizeof text, "%s: rank %s %s", ANA_SPOKEN((double)s->waited_ns), culprit.text,
             ana_wait_words[s->wait.kind].does);
    row(user, "waited", text);
    tui_inspect_doing(job, s->wait.culprit, &of->culprit, doing, sizeof doing);
    snprintf(text, sizeof text, "rank %s was %s", culprit.text, doing);
    row(user, "meanwhile", text);
}

static void put_program(const struct ana_job *job, const struct tui_moment *of, tui_inspect_row *row, void *user)
{
    const struct trc_path *path = &of->state.path;
    const struct tui_source *source = &of->source;
    char text[sizeof source->file + TUI_SOURCE_WIDTH];
    for (uint32_t i = 0; i < path->n; i++) {
        ana_caller_words(job, of->index, path->site[i], text, sizeof text);
        row(user, i ? "" : "callers", text);
    }
    if (path->end != TRC_PATH_WHOLE)
        row(user, path->n ? "" : "callers", path->n ? SAY_OTHERS_ARE_NOT : "unknown");
    snprintf(text, sizeof text, "%s%s%.0d%s%s", source->file, source->line ? ":" : "", source->line,
             source->line && source->trouble ? ": " : "", source->trouble ? source->trouble : "");
    row(user, "source", text);
    for (int i = 0, line = source->first; i < source->count; i++, line++) {
        snprintf(text, sizeof text, "%c%5d  %s", line == source->line ? '>' : ' ', line, source->text[i]);
        row(user, "", text);
    }
}

void tui_inspect_rows(const struct ana_job *job, const struct tui_moment *of, tui_inspect_row *row, void *user)
{
    char text[ROW];
    const struct ana_state_at *s = &of->state;
    const struct ana_span span = span_of(s);
    tui_inspect_doing(job, of->index, s, text, sizeof text);
    row(user, "did", text);
    if (s->unknown)
        return;
    snprintf(text, sizeof text, "%.9f s to %.9f s", (double)span.begin_ns / 1e9, (double)span.end_ns / 1e9);
    row(user, "time", text);
    tui_inspect_partners(job, s, text, sizeof text);
    if (s->covers && *text)
        row(user, "partners", text);
    if (s->covers)
        put_wait(job, of, row, user);
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64, of->iteration, of->iterations);
    if (of->iteration)
        row(user, "iteration", text);
    if (s->call)
        put_program(job, of, row, user);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Adds a rank by its index; null for SIZE_MAX. */
static void add_rank(cJSON *object, const char *key, const struct ana_job *job, size_t index)
{
    tui_json_real(object, key, index == SIZE_MAX ? NAN : ana_job_rank(job, index)->rank);
}

static void add_call(cJSON *call, const struct ana_job *job, const struct ana_state_at *s)
{
    const uint64_t unknown = TRC_BYTES_UNKNOWN;
    tui_json_text(call, "name", s->call);
    cJSON_AddBoolToObject(call, "open", s->open);
    tui_json_real(call, "sent", s->sig.sent == unknown ? NAN : (double)s->sig.sent);
    tui_json_real(call, "received", s->sig.received == unknown ? NAN : (double)s->sig.received);
    add_rank(call, "to", job, s->to);
    add_rank(call, "from", job, s->from);
    tui_json_text(call, "communicator", s->comm_name);
    tui_json_real(call, "collective", s->sig.flags & TRC_SIG_COLL ? (double)s->sequence : NAN);
    add_rank(call, "last_rank", job, s->last_index < 0 ? SIZE_MAX : (size_t)s->last_index);
}

static void add_source(cJSON *root, const struct tui_source *source)
{
    cJSON *object = cJSON_AddObjectToObject(root, "source");
    tui_json_text(object, "file", source->file[0] ? source->file : NULL);
    tui_json_real(object, "line", source->line ? source->line : NAN);
    tui_json_text(object, "trouble", source->trouble);
    tui_json_real(object, "first", source->count ? source->first : NAN);
    cJSON *lines = cJSON_AddArrayToObject(object, "text");
    for (int i = 0; i < source->count; i++)
        tui_json_word(lines, source->text[i]);
}

cJSON *tui_inspect_json(const struct ana_job *job, const struct tui_moment *of)
{
    const struct ana_state_at *s = &of->state;
    const bool waited = s->waited_ns > 0;
    char words[ROW];
    cJSON *root = tui_json_document();
    add_rank(root, "rank", job, of->index);
    tui_json_ns(root, "at_s", of->at_ns);
    tui_inspect_doing(job, of->index, s, words, sizeof words);
    tui_json_text(root, "did", words);
    cJSON_AddBoolToObject(root, "in_call", s->covers);
    tui_json_ns(root, "begin_s", s->unknown ? -1 : span_of(s).begin_ns);
    tui_json_ns(root, "end_s", s->unknown ? -1 : span_of(s).end_ns);
    add_call(cJSON_AddObjectToObject(root, "call"), job, s);
    cJSON *wait = cJSON_AddObjectToObject(root, "wait");
    tui_json_ns(wait, "lost_s", s->waited_ns);
    tui_json_text(wait, "kind", waited ? ana_wait_words[s->wait.kind].key : NULL);
    add_rank(wait, "rank", job, waited ? s->wait.culprit : SIZE_MAX);
    tui_inspect_doing(job, s->wait.culprit, &of->culprit, words, sizeof words);
    tui_json_text(wait, "meanwhile", waited ? words : NULL);
    tui_json_real(root, "iteration", of->iteration ? (double)of->iteration : NAN);
    tui_json_text(root, "region", s->region);
    cJSON *path = cJSON_AddArrayToObject(root, "path");
    for (uint32_t i = 0; i < s->path.n; i++) {
        ana_caller_words(job, of->index, s->path.site[i], words, sizeof words);
        tui_json_word(path, words);
    }
    add_source(root, &of->source);
    return root;
}
