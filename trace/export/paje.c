/* Paje's text format, for ViTE, PajeNG and others: a container a thread below that of its rank, states for calls and
 * regions, links for messages.  Its readers want all lines in order of time.
 * Source: Schnorr, "Paje trace file format", version 1.2.5. */
#include "trace/export/export_impl.h"
#include "trace/export/sorted.h"
#include "trace/util/hash.h"
#include "trace/util/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct paje {
    struct ana_sorted *lines;
    struct ana_map names; /* const char * of states, by hash */
    int64_t shift_ns;     /* readers want no time below 0 */
    int64_t last_ns;
    uint64_t links;
};

static const char header[] = "%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n"
                             "%EndEventDef\n"
                             "%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n% Name string\n"
                             "%EndEventDef\n"
                             "%EventDef PajeDefineLinkType 2\n% Alias string\n% Type string\n"
                             "% StartContainerType string\n% EndContainerType string\n% Name string\n%EndEventDef\n"
                             "%EventDef PajeDefineEntityValue 3\n% Alias string\n% Type string\n% Name string\n"
                             "% Color color\n%EndEventDef\n"
                             "%EventDef PajeCreateContainer 4\n% Time date\n% Alias string\n% Type string\n"
                             "% Container string\n% Name string\n%EndEventDef\n"
                             "%EventDef PajeDestroyContainer 5\n% Time date\n% Type string\n% Name string\n"
                             "%EndEventDef\n"
                             "%EventDef PajePushState 6\n% Time date\n% Type string\n% Container string\n"
                             "% Value string\n% What string\n% Calls int\n% Sent string\n% Received string\n"
                             "%EndEventDef\n"
                             "%EventDef PajePopState 7\n% Time date\n% Type string\n% Container string\n%EndEventDef\n"
                             "%EventDef PajeStartLink 8\n% Time date\n% Type string\n% Container string\n"
                             "% Value string\n% StartContainer string\n% Key string\n% Size string\n% Tag int\n"
                             "%EndEventDef\n"
                             "%EventDef PajeEndLink 9\n% Time date\n% Type string\n% Container string\n"
                             "% Value string\n% EndContainer string\n% Key string\n%EndEventDef\n"
                             "0 J 0 Job\n0 R J Rank\n0 T R Thread\n1 S T \"Call or region\"\n2 M J T T Message\n"
                             "3 m M message \"0.3 0.3 0.3\"\n";

/* Text in quotes, which has none inside; nor commas, which pj_dump's own output could not tell from its own. */
static void quote(const char *text, char *out, size_t size)
{
    char clean[512];
    snprintf(clean, sizeof clean, "%s", text);
    trc_clean_text(clean);
    for (char *c = clean; *c; c++)
        *c = *c == '"' ? '\'' : *c == ',' ? ';' : *c;
    snprintf(out, size, "\"%s\"", clean);
}

/* Adds a line of a time, which stands behind its number. */
__attribute__((format(printf, 4, 5))) static void put_line(struct ana_exporting *x, int event, int64_t ns,
                                                           const char *format, ...)
{
    struct paje *paje = x->own;
    char line[1024];
    va_list args;
    ns += paje->shift_ns;
    ns = ns > 0 ? ns : 0;
    paje->last_ns = ns > paje->last_ns ? ns : paje->last_ns;
    int n = snprintf(line, sizeof line, "%d %lld.%09lld ", event, (long long)(ns / 1000000000),
                     (long long)(ns % 1000000000));
    va_start(args, format);
    int more = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    va_end(args);
    n = more < 0 || (size_t)(n + more) > sizeof line - 2 ? (int)sizeof line - 2 : n + more;
    line[n++] = '\n';
    ana_sorted_add(paje->lines, ns, line, (size_t)n);
}

static bool begin(struct ana_exporting *x)
{
    struct ana_job_info info = ana_job_info(x->job);
    struct paje *paje = x->own = calloc(1, sizeof *paje);
    char text[600], quoted[600];
    if (paje)
        paje->lines = ana_sorted_new(x->path);
    if (!paje || !paje->lines) {
        ana_export_fail(x, "out of memory");
        return false;
    }
    ana_map_init(&paje->names, sizeof(const char *));
    paje->shift_ns = ana_export_shift(x);
    quote(info.name, quoted, sizeof quoted);
    put_line(x, 4, -paje->shift_ns, "j J 0 %s", quoted);
    for (size_t i = 0; i < x->job->count; i++) {
        if (!ana_selected(x->ask->part.ranks, i))
            continue;
        ana_export_rank_words(x, i, text, sizeof text);
        quote(text, quoted, sizeof quoted);
        put_line(x, 4, -paje->shift_ns, "r%zu R j %s", i, quoted);
        for (size_t t = x->first[i]; t < x->first[i + 1]; t++) {
            char name[128];
            ana_export_thread_words(x, i, t - x->first[i], name, sizeof name);
            snprintf(text, sizeof text, "rank %s %s", ana_rank_label(x->job, i).text, name);
            quote(text, quoted, sizeof quoted);
            put_line(x, 4, -paje->shift_ns, "t%zu T r%zu %s", t, i, quoted);
        }
    }
    return true;
}

/* The number of a name, which is its alias. */
static size_t name_of(struct ana_exporting *x, const struct ana_event *e)
{
    struct paje *paje = x->own;
    if (e->use && e->use->number)
        return e->use->number - 1;
    const char *name = ana_export_name(x, e), **slot = ana_map_add(&paje->names, ana_hash_text(name), 0, 0);
    if (!slot) {
        ana_export_fail(x, "out of memory");
        return 0;
    }
    *slot = name;
    size_t number = (size_t)(slot - (const char **)paje->names.values);
    if (e->use)
        e->use->number = (uint32_t)number + 1;
    return number;
}

static void put_region(struct ana_exporting *x, const struct ana_export_thread *thread, const struct ana_event *e)
{
    uint32_t left = ana_export_regions_left(thread, e);
    size_t t = (size_t)(thread - x->thread);
    for (uint32_t n = thread->open.depth; n > left; n--)
        put_line(x, 7, e->end_ns, "S t%zu", t);
    if (e->kind == TRC_RECORD_BEGIN && thread->open.depth < TRC_REGIONS_DEEP)
        put_line(x, 6, e->begin_ns, "S t%zu n%zu region 0 0 0", t, name_of(x, e));
}

static void event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e)
{
    enum ana_export_what what = ana_export_what(e);
    size_t t = (size_t)(thread - x->thread);
    if (what == ANA_EXPORT_REGION) {
        put_region(x, thread, e);
        return;
    }
    uint64_t sent = what == ANA_EXPORT_LOST ? 0 : ana_export_sent(e);
    uint64_t received = what == ANA_EXPORT_LOST ? 0 : ana_export_received(thread, e);
    bool is_part = what == ANA_EXPORT_PART;
    if (what == ANA_EXPORT_NESTED || what == ANA_EXPORT_LOST || (is_part && !sent && !received))
        return;
    put_line(x, 6, is_part ? e->end_ns : ana_export_begin(thread, e), "S t%zu n%zu %s %llu %llu %llu", t, name_of(x, e),
             ana_export_what_name(what), (unsigned long long)ana_event_calls(e), (unsigned long long)sent,
             (unsigned long long)received);
    put_line(x, 7, e->end_ns, "S t%zu", t);
}

static void message(struct ana_exporting *x, const struct ana_message *m)
{
    struct paje *paje = x->own;
    const struct ana_export_thread *from = ana_export_thread_of(x, m->source, m->send_step),
                                   *to = ana_export_thread_of(x, m->destination, m->recv_wait_step);
    if (!from || !to || !ana_export_has_both(x, m))
        return;
    paje->links++;
    put_line(x, 8, m->send_begin_ns, "M j m t%zu %llu %llu %d", (size_t)(from - x->thread),
             (unsigned long long)paje->links, (unsigned long long)(m->bytes == TRC_BYTES_UNKNOWN ? 0 : m->bytes),
             m->tag);
    put_line(x, 9, m->recv_complete_ns, "M j m t%zu %llu", (size_t)(to - x->thread), (unsigned long long)paje->links);
}

/* Leaves what is open, and ends the containers. */
static void end_containers(struct ana_exporting *x)
{
    struct paje *paje = x->own;
    int64_t end_ns = paje->last_ns - paje->shift_ns;
    for (size_t i = 0; i < x->job->count; i++) {
        if (!ana_selected(x->ask->part.ranks, i))
            continue;
        for (size_t t = x->first[i]; t < x->first[i + 1]; t++) {
            for (uint32_t n = x->thread[t].open.depth; n > 0; n--)
                put_line(x, 7, end_ns, "S t%zu", t);
            put_line(x, 5, end_ns, "T t%zu", t);
        }
        put_line(x, 5, end_ns, "R r%zu", i);
    }
    put_line(x, 5, end_ns, "J j");
}

/* What the rest must be read with, as comments. */
static void put_facts(struct ana_exporting *x)
{
    struct paje *paje = x->own;
    struct ana_job_info info = ana_job_info(x->job);
    char text[1024], quoted[600];
    quote(info.command, quoted, sizeof quoted);
    snprintf(text, sizeof text, "# command %s\n# clock_error_s %.9g\n# job_time_0_at_ns %lld\n", quoted,
             info.clock_error_s, (long long)paje->shift_ns);
    ana_out_text(x->out, text);
}

static void finish(struct ana_exporting *x)
{
    struct paje *paje = x->own;
    char quoted[600];
    if (!paje)
        return;
    if (paje->lines) {
        end_containers(x);
        put_facts(x);
        ana_out_text(x->out, header);
        for (size_t i = 0; i < paje->names.count; i++) {
            char line[700];
            quote(*(const char **)ana_map_value(&paje->names, i), quoted, sizeof quoted);
            snprintf(line, sizeof line, "3 n%zu S %s \"%.2f %.2f %.2f\"\n", i, quoted, 0.3 + 0.1 * (double)(i * 3 % 7),
                     0.3 + 0.1 * (double)(i * 5 % 7), 0.3 + 0.1 * (double)(i % 7));
            ana_out_text(x->out, line);
        }
        int error = ana_sorted_write(paje->lines, x->out);
        if (error)
            ana_export_fail(x, "cannot keep lines beside %s: %s", x->path, strerror(error));
    }
    ana_sorted_free(paje->lines);
    ana_map_free(&paje->names);
    free(paje);
}

const struct ana_export_sink ana_export_paje = {
    .is = {"paje", "paje", "text for ViTE and PajeNG", false},
    .begin = begin,
    .event = event,
    .message = message,
    .finish = finish,
};
