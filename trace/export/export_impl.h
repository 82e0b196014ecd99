/* Declarations shared by the formats; nobody else includes this. */
#pragma once

#include "trace/export/export.h"
#include "trace/export/out.h"
#include "trace/format/format_items.h"
#include "trace/job/comms.h"
#include "trace/sums/event.h"
#include "trace/job/site_words.h"
#include "trace/job/walk.h"
#include "trace/job/window.h"

/* A thread, or a stream of a GPU, as the walk comes along it. */
struct ana_export_thread {
    int64_t until_ns;        /* end of its last call; INT64_MIN: there was none */
    struct trc_regions open; /* regions of the program's own that it is in */
    bool is_stream;
};

struct ana_exporting {
    struct ana_job *job;
    const struct ana_export *ask;
    const struct ana_export_sink *sink;
    const struct ana_summary *summary; /* present if the sink wants it */
    char path[4096];                   /* file or folder that is being written */
    struct ana_out *out;               /* the file; NULL: the format is a folder */
    struct ana_export_thread *thread;  /* threads of all ranks, one rank after the other */
    size_t *first;                     /* index of each rank's first thread; one more at the end */
    struct ana_map comms;              /* struct ana_export_comm by identity */
    struct ana_map sites;              /* struct ana_export_site by rank index, address */
    char error[256];                   /* failure; "": nothing */
    void *own;                         /* format's own data: begin makes it, finish frees it */
};

/* Parts of a summary that a format wants. */
enum ana_export_wants { ANA_EXPORT_NO_SUMS, ANA_EXPORT_COUNTERS /* exact without any event */, ANA_EXPORT_SUMS };

/* A format. `begin` writes everything known before the walk; false, with x->error: it cannot. `finish` writes the
 * rest and frees the data of begin, also if begin or the walk has failed; NULL: nothing.  Without `event` there is no
 * walk. */
struct ana_export_sink {
    struct ana_export_format is;
    enum ana_export_wants wants;
    bool (*begin)(struct ana_exporting *x);
    void (*event)(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *event);
    void (*message)(struct ana_exporting *x, const struct ana_message *message);
    void (*instance)(struct ana_exporting *x, const struct ana_instance *instance);
    void (*finish)(struct ana_exporting *x);
};

#define EXPORT(name) extern const struct ana_export_sink ana_export_##name;
#include "trace/export/formats.def"

/* ---- words.c ----------------------------------------------------------------------------------------------------- */

/* Reports what failed, unless something has before.  Returns false. */
__attribute__((format(printf, 2, 3))) bool ana_export_fail(struct ana_exporting *x, const char *format, ...);

#define ANA_EXPORT_NAME 128
struct ana_export_comm {
    uint32_t number; /* number from 1, by first sight */
    char name[ANA_EXPORT_NAME];
};
/* A communicator by its identity, named as in the report; valid until the next is met.  NULL: out of memory. */
const struct ana_export_comm *ana_export_comm(struct ana_exporting *x, uint64_t identity, const struct trc_comm *comm);

struct ana_export_site {
    uint32_t number;  /* from 1 */
    const char *text; /* "app.c:17", function or module and offset; NULL: unknown.  As long as the job */
    char *path;       /* "halo.c:3 in halo < app.c:17 in main"; NULL: only the place is known.  As long as the export */
};
/* A place that calls; valid until the next is met.  NULL: it is not known, or out of memory. */
const struct ana_export_site *ana_export_site(struct ana_exporting *x, size_t index, uint64_t address);

/* Kinds of items, for tables and for viewers. */
enum ana_export_what {
    ANA_EXPORT_CALL,   /* a call of the program */
    ANA_EXPORT_POLL,   /* several unsuccessful ones */
    ANA_EXPORT_NESTED, /* made by MPI inside another call */
    ANA_EXPORT_PART,   /* part of the call before it on its thread: a request that it started or completed */
    ANA_EXPORT_DEVICE, /* a kernel or copy on a stream of a GPU */
    ANA_EXPORT_LOST,
    ANA_EXPORT_REGION /* begin or end of a region of the program */
};
/* The kind of an event. */
enum ana_export_what ana_export_what(const struct ana_event *event);
/* The kinds' words: "call", "poll" ... */
extern const char *const ana_export_what_names[];

/* The name of an event: a call's, a kernel's or a region's own name.  Never NULL; valid as long as the job. */
const char *ana_export_name(struct ana_exporting *x, const struct ana_event *event);
/* The rank index of the partner, root or target of an event; SIZE_MAX: it has none, or it is not known. */
size_t ana_export_partner(const struct ana_exporting *x, const struct ana_event *event);
/* The tag of a message that an event sends or receives.  False: it has none. */
bool ana_export_tag(const struct ana_event *event, int32_t *tag);

/* Writes "rank 3 on node1, pid 77". */
void ana_export_rank_words(const struct ana_exporting *x, size_t index, char *out, size_t size);
/* Writes what a thread of a rank is called: "thread 2", "GPU 0 stream 7". */
void ana_export_thread_words(const struct ana_exporting *x, size_t index, size_t thread, char *out, size_t size);

/* Offset added to all times for readers that want none below 0, in ns. */
int64_t ana_export_shift(const struct ana_exporting *x);

/* Number of threads of a rank. */
static inline size_t ana_export_threads(const struct ana_exporting *x, size_t index)
{
    return x->first[index + 1] - x->first[index];
}
/* The thread of a rank that a message or arrival names by its step; NULL: unknown. */
static inline struct ana_export_thread *ana_export_thread_of(const struct ana_exporting *x, size_t index, uint32_t step)
{
    return step && step <= ana_export_threads(x, index) ? &x->thread[x->first[index] + step - 1] : NULL;
}

/* A time of the event, moved not to precede the end of the thread's last call: overlapping polls begin when the one
 * before ends, so that they are drawn side by side. */
static inline int64_t ana_export_begin(const struct ana_export_thread *thread, const struct ana_event *event)
{
    bool late = event->begin_ns < thread->until_ns;
    return !late ? event->begin_ns : thread->until_ns < event->end_ns ? thread->until_ns : event->end_ns;
}

/* Number of regions left open after a region item; unchanged if it ends none. */
static inline uint32_t ana_export_regions_left(const struct ana_export_thread *thread, const struct ana_event *e)
{
    bool ends = e->kind == TRC_RECORD_END && !thread->open.deeper;
    return ends ? trc_regions_left(&thread->open, (uint32_t)e->sequence) : thread->open.depth;
}
/* Bytes that an event of a thread hands to MPI, all polls of it together. */
static inline uint64_t ana_export_sent(const struct ana_event *e)
{
    return ana_event_sent(e->sig) * ana_event_times(e);
}
/* Bytes that arrive with it. */
static inline uint64_t ana_export_received(const struct ana_event *e)
{
    return ana_event_received(e->sig, e->use->call->opclass) * ana_event_times(e);
}
/* Whether both ends of a message are of ranks that are asked for: else there is nothing to draw it between. */
static inline bool ana_export_has_both(const struct ana_exporting *x, const struct ana_message *m)
{
    const uint8_t *ranks = x->ask->part.ranks;
    return ana_selected(ranks, m->source) && ana_selected(ranks, m->destination);
}
/* Time at which the last member left a collective. */
static inline int64_t ana_export_end_of(const struct ana_instance *i)
{
    int64_t end_ns = i->arrival[0].end_ns;
    for (size_t a = 1; a < i->arrivals; a++)
        end_ns = i->arrival[a].end_ns > end_ns ? i->arrival[a].end_ns : end_ns;
    return end_ns;
}
