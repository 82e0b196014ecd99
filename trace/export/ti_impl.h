/* Time-independent actions: what the files of this format share; nobody else includes this. */
#ifndef ANA_TI_IMPL_H
#define ANA_TI_IMPL_H

#include "trace/export/export_impl.h"
#include "trace/export/ti.h"

/* Where a rank is, as the walk comes along it. */
struct ti_clock {
    int64_t until_ns; /* the end of what was seen; INT64_MIN: nothing was */
    uint64_t from;    /* hash of the place of its last call; 0: unknown */
};

struct ti_rank {
    struct ti_clock clock;
    double work_ns; /* done since its last action */
    bool begun, ended;
    uint32_t number; /* as the actions call it */
};

/* A request that was started. */
struct ti_request {
    uint32_t peer; /* number of the other rank + 1; 0: there is no action yet, since that was not known;
                    * UINT32_MAX: it is a collective */
    int32_t tag;
    uint64_t node; /* what the writer calls it */
};

enum ti_word { TI_SEND, TI_ISEND, TI_RECV, TI_IRECV };

/* A format of actions.  What it writes of a rank, by its index, comes behind the work that the rank has done since. */
struct ti_writer {
    void (*begin)(struct ana_exporting *x, size_t index);
    void (*end)(struct ana_exporting *x, size_t index);
    /* A message to or from a rank, by its number.  Returns what request.node will be. */
    uint64_t (*message)(struct ana_exporting *x, size_t index, enum ti_word word, uint32_t peer, int32_t tag,
                        uint64_t bytes);
    void (*wait)(struct ana_exporting *x, size_t index, const struct ti_request *request, bool receives);
    bool (*collective)(struct ana_exporting *x, const struct ana_event *e); /* false: there is no action for it */
    /* One that is only started: returns what request.node will be, 0: there is no action for it; NULL: it is written as
     * if it blocked. */
    uint64_t (*started)(struct ana_exporting *x, const struct ana_event *e);
};

struct ti {
    const struct ti_writer *writer;
    void *own;            /* of the writer */
    struct ti_rank *rank; /* by rank index */
    size_t ranks;         /* that are written, without copies */
    unsigned copies;
    struct ana_map posted; /* struct ti_request by rank index, thread and half, number */
    double *alone;         /* by rank index: what is left of work between places that no other rank has; NULL: all */
    struct ana_map levels; /* struct ti_level, by both ends of a segment; empty: all is as it was */
    uint64_t left_out;     /* messages and collectives that have no action */
};

enum { TI_TAGS = 1 << 15, TI_ROOM = 1 << 30 }; /* a message may be smaller than what is received into */

/* ---- ti.c -------------------------------------------------------------------------------------------------------- */

/* An action.  `peer` is the number of another rank, which stands behind the word
 * if there is one (UINT32_MAX: none); a receive has `receives`. */
struct ti_action {
    const char *word;
    uint32_t peer;
    bool receives;
    const char *rest; /* what follows; "": nothing */
};
/* Writes an action of a rank, and of all its copies. */
void ti_put(struct ana_exporting *x, size_t index, struct ti_action action);
/* As in struct ti_writer. */
uint64_t ti_put_message(struct ana_exporting *x, size_t index, enum ti_word word, uint32_t peer, int32_t tag,
                        uint64_t bytes);
/* As in struct ti_writer. */
void ti_put_wait(struct ana_exporting *x, size_t index, const struct ti_request *request, bool receives);

/* ---- ti_actions.c ------------------------------------------------------------------------------------------------ */

/* Begins a format of actions: x->own is a struct ti then.  False: x->error says why. */
bool ti_begin(struct ana_exporting *x, const struct ti_writer *writer);
/* As in struct ana_export_sink. */
void ti_event(struct ana_exporting *x, struct ana_export_thread *thread, const struct ana_event *e);
/* Ends the ranks that are still there. */
void ti_end_ranks(struct ana_exporting *x);
/* Ends them, and frees what ti_begin has made. */
void ti_finish(struct ana_exporting *x);
/* The tag of the messages of a communicator, which the actions do not have. */
int32_t ti_tag(struct ana_exporting *x, const struct ana_event *e, int32_t tag);
/* The number of the rank that is this rank of an event's world; UINT32_MAX: it is not written, or not known. */
uint32_t ti_number(const struct ana_exporting *x, const struct ana_event *e, int32_t world_rank);

/* ---- ti_collective.c --------------------------------------------------------------------------------------------- */

/* Writes a collective.  False: there is no action for it. */
bool ti_put_collective(struct ana_exporting *x, const struct ana_event *e);

/* ---- ti_work.c --------------------------------------------------------------------------------------------------- */

/* How long a rank worked, and the hashes of the places where it did: of its last call and of this one. */
struct ti_span {
    double before_ns, inside_ns; /* between two calls; in calls that are work themselves */
    uint64_t from, to;
};
/* What it worked before and in an event, which is then seen. */
struct ti_span ti_work(struct ana_exporting *x, struct ti_clock *clock, const struct ana_event *e);

/* What ranks take for a segment of the program: by its places and 0 the median of the means of those whose time is not
 * changed, by rank index + 1 the mean of one whose time is. */
struct ti_level {
    double ns;
};
/* Finds them, and what is left of other work, in a walk of its own.  False: out of memory. */
bool ti_find_levels(struct ana_exporting *x, struct ti *ti, const uint8_t *level);
/* How much of a span is left. */
double ti_levelled(const struct ti *ti, const uint8_t *level, size_t index, struct ti_span span);

#endif
