/* Packets of Perfetto's protobuf; for perfetto.c and perfetto_packet.c. */
#pragma once

#include "trace/export/export_impl.h"
#include "trace/export/proto.h"

/* Fields of a TrackEvent that its writer puts there itself, and its types. */
enum { EVENT_CATEGORY = 3, EVENT_NAME = 10, EVENT_VALUE = 44, EVENT_FLOW = 47, EVENT_FLOW_END = 48 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

/* Interned texts, by the field of InternedData; each entry has its number in field 1 and its text in field 2. */
enum perfetto_kind { CATEGORY = 1, NAME = 2, KEY_TEXT = 3, TEXT = 29 };

enum { RATES = 1000, LANES = 32 };

/* The keys of annotations.  KEY(id, text) */
#define PERFETTO_KEYS(KEY)                                                                                             \
    KEY(CALLS, "calls")                                                                                                \
    KEY(SENT, "bytes_sent")                                                                                            \
    KEY(RECEIVED, "bytes_received")                                                                                    \
    KEY(PEER, "peer")                                                                                                  \
    KEY(TAG, "tag")                                                                                                    \
    KEY(COMM, "communicator")                                                                                          \
    KEY(ORDER, "sequence")                                                                                             \
    KEY(BUSY, "busy_ns")                                                                                               \
    KEY(SITE, "site")                                                                                                  \
    KEY(PATH, "path")                                                                                                  \
    KEY(RANKS, "ranks")                                                                                                \
    KEY(LAST, "last")                                                                                                  \
    KEY(SKEW, "skew_ns")                                                                                               \
    KEY(BYTES, "bytes")                                                                                                \
    KEY(RECORDS, "records")                                                                                            \
    KEY(ERROR, "clock_error_s")                                                                                        \
    KEY(COMMAND, "command")                                                                                            \
    KEY(LOST, "lost_records")                                                                                          \
    KEY(RECYCLED, "recycled_records")                                                                                  \
    KEY(SHIFT, "job_time_0_at_ns")                                                                                     \
    KEY(MPI, "mpi")
enum perfetto_key {
#define KEY(id, text) id,
    PERFETTO_KEYS(KEY)
#undef KEY
        KEYS
};

/* Tracks of a communicator's collectives: overlapping ones lie on several. */
struct lanes {
    uint64_t uuid[LANES];
    int64_t until_ns[LANES];
    int count;
};

struct perfetto {
    struct ana_proto p; /* the packet that is being written */
    uint8_t *packet;
    struct ana_map interned; /* uint32_t number by kind, hash of the text */
    uint32_t numbers[32];    /* last number of each kind */
    struct ana_map lanes;    /* by communicator */
    uint64_t *track;         /* uuid of each thread */
    uint64_t tracks, flows;
    uint64_t sent[RATES], received[RATES]; /* bytes by time */
    int64_t step_ns;                       /* of these */
    uint32_t send, receive, is_message;    /* words for ends of messages */
    int64_t shift_ns;                      /* job times may be a little below 0, Perfetto's times may not */
    bool begun;
};

/* The number of a text; one that is new gets a packet of its own, so none must be open. */
uint32_t ana_perfetto_intern(struct ana_exporting *x, enum perfetto_kind kind, const char *text);
/* Begins a packet with an event of this type on a track, and returns what ana_perfetto_end wants.  Its name and its
 * category are interned texts; 0: none. */
uint8_t *ana_perfetto_begin(struct ana_exporting *x, int64_t at_ns, int type, uint64_t track, uint32_t name,
                            uint32_t category);
/* Ends the event and its packet. */
void ana_perfetto_end(struct ana_exporting *x, uint8_t *event);
/* Fields of an annotation: a number, one that may be negative, an interned text. */
enum { ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_TEXT = 17 };
/* Annotates the event that was begun with a value in one of these fields. */
void ana_perfetto_annotate(struct perfetto *perfetto, uint32_t field, enum perfetto_key key, uint64_t value);
/* Annotates it with a real number. */
void ana_perfetto_real(struct perfetto *perfetto, enum perfetto_key key, double value);
/* Makes a track below another (0: none); `pid` is a process's, 0: none; `unit` a counter's, or NULL. */
void ana_perfetto_track(struct ana_exporting *x, uint64_t uuid, uint64_t parent, const char *name, size_t pid,
                        const char *unit);
