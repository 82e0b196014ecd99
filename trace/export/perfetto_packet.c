#include "trace/export/perfetto_impl.h"
#include "trace/util/hash.h"
#include "trace/util/text.h"

/* Numbers of fields, by their messages. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TRACK = 60
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS = 2 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, PROCESS_SORT = 3 };
enum { COUNTER_UNIT_NAME = 6 };
enum { EVENT_ANNOTATION = 4, EVENT_TYPE = 9, EVENT_TRACK = 11 };
enum { ANNOTATION_NAME = 1, ANNOTATION_DOUBLE = 5 };
enum { SEQUENCE = 1, ROOM = 16384, LONGEST = 1024 };

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static void begin_packet(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own;
    perfetto->p.at = (uint8_t *)ana_out_grow(x->out, ROOM);
    perfetto->packet = ana_proto_begin(&perfetto->p, TRACE_PACKET);
    ana_proto_uint(&perfetto->p, PACKET_SEQUENCE, SEQUENCE);
    ana_proto_uint(&perfetto->p, PACKET_FLAGS, perfetto->begun ? FLAG_NEEDS : FLAG_CLEARED | FLAG_NEEDS);
    perfetto->begun = true;
}

static void end_packet(struct ana_exporting *x)
{
    struct perfetto *perfetto = x->own;
    ana_proto_end(&perfetto->p, perfetto->packet);
    ana_out_used(x->out, (size_t)(perfetto->p.at - perfetto->packet) + ANA_PROTO_LENGTH + 1);
}

static void put_time(struct perfetto *perfetto, int64_t ns)
{
    ns += perfetto->shift_ns;
    ana_proto_uint(&perfetto->p, PACKET_TIME, ns > 0 ? (uint64_t)ns : 0);
}

uint32_t ana_perfetto_intern(struct ana_exporting *x, enum perfetto_kind kind, const char *text)
{
    struct perfetto *perfetto = x->own;
    uint32_t *number = ana_map_add(&perfetto->interned, (uint64_t)kind, ana_hash_text(text), 0);
    char clean[LONGEST];
    if (!number) {
        ana_export_fail(x, "out of memory");
        return 0;
    }
    if (*number)
        return *number;
    *number = ++perfetto->numbers[kind];
    uint32_t made = *number;
    snprintf(clean, sizeof clean, "%s", text);
    trc_clean_text(clean);
    begin_packet(x);
    uint8_t *data = ana_proto_begin(&perfetto->p, PACKET_INTERNED);
    uint8_t *entry = ana_proto_begin(&perfetto->p, kind);
    ana_proto_uint(&perfetto->p, 1, made);
    ana_proto_text(&perfetto->p, 2, clean);
    ana_proto_end(&perfetto->p, entry);
    ana_proto_end(&perfetto->p, data);
    end_packet(x);
    return made;
}

uint8_t *ana_perfetto_begin(struct ana_exporting *x, int64_t at_ns, int type, uint64_t track, uint32_t name,
                            uint32_t category)
{
    struct perfetto *perfetto = x->own;
    begin_packet(x);
    put_time(perfetto, at_ns);
    uint8_t *event = ana_proto_begin(&perfetto->p, PACKET_EVENT);
    ana_proto_uint(&perfetto->p, EVENT_TYPE, (uint64_t)type);
    ana_proto_uint(&perfetto->p, EVENT_TRACK, track);
    if (name)
        ana_proto_uint(&perfetto->p, EVENT_NAME, name);
    if (category)
        ana_proto_uint(&perfetto->p, EVENT_CATEGORY, category);
    return event;
}

void ana_perfetto_end(struct ana_exporting *x, uint8_t *event)
{
    struct perfetto *perfetto = x->own;
    ana_proto_end(&perfetto->p, event);
    end_packet(x);
}

static uint8_t *begin_annotation(struct perfetto *perfetto, enum perfetto_key key)
{
    uint8_t *annotation = ana_proto_begin_small(&perfetto->p, EVENT_ANNOTATION);
    ana_proto_uint(&perfetto->p, ANNOTATION_NAME, (uint64_t)key + 1);
    return annotation;
}

void ana_perfetto_annotate(struct perfetto *perfetto, uint32_t field, enum perfetto_key key, uint64_t value)
{
    uint8_t *annotation = begin_annotation(perfetto, key);
    ana_proto_uint(&perfetto->p, field, value);
    ana_proto_end_small(&perfetto->p, annotation);
}

void ana_perfetto_real(struct perfetto *perfetto, enum perfetto_key key, double value)
{
    uint8_t *annotation = begin_annotation(perfetto, key);
    ana_proto_double(&perfetto->p, ANNOTATION_DOUBLE, value);
    ana_proto_end_small(&perfetto->p, annotation);
}

/* ---- tracks ------------------------------------------------------------------------------------------------------ */

void ana_perfetto_track(struct ana_exporting *x, uint64_t uuid, uint64_t parent, const char *name, size_t pid,
                        const char *unit)
{
    struct perfetto *perfetto = x->own;
    struct ana_proto *p = &perfetto->p;
    char clean[LONGEST];
    snprintf(clean, sizeof clean, "%s", name);
    trc_clean_text(clean);
    begin_packet(x);
    uint8_t *track = ana_proto_begin(p, PACKET_TRACK);
    ana_proto_uint(p, TRACK_UUID, uuid);
    if (parent)
        ana_proto_uint(p, TRACK_PARENT, parent);
    if (!pid)
        ana_proto_text(p, TRACK_NAME, clean);
    if (pid) {
        uint8_t *process = ana_proto_begin(p, TRACK_PROCESS);
        ana_proto_uint(p, PROCESS_PID, pid);
        ana_proto_text(p, PROCESS_NAME, clean);
        ana_proto_uint(p, PROCESS_SORT, pid);
        ana_proto_end(p, process);
    }
    if (unit) {
        uint8_t *counter = ana_proto_begin(p, TRACK_COUNTER);
        ana_proto_text(p, COUNTER_UNIT_NAME, unit);
        ana_proto_end(p, counter);
    }
    ana_proto_end(p, track);
    end_packet(x);
}
