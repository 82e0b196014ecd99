/* Items of a chunk, decoded: format.h's grammar, read without trust. */
#include "trace/reader/cursor.h"
#include "trace/util/rows.h"

#define EVENT_MAX  (6 * 10)   /* bytes: its number, gap, duration, sequence, and two for its request */
#define SIGS_MAX   (1u << 16) /* signatures in one chunk; a writer needs ten bytes for each and its event */
#define SIGS_FIRST 4u

static enum trc_step bad(const char **why, const char *what)
{
    *why = what;
    return TRC_STEP_BAD;
}

/* The signature that a LIKE differs from, and in which fields.  False: there is none. */
static bool decode_original(const struct trc_cursor *cursor, struct trc_bytes *body, struct trc_sig *sig,
                            uint64_t *mask)
{
    uint64_t number;
    if (!trc_get_varint(body, &number) || !trc_get_varint(body, mask))
        return false;
    if (number == 0 || number > cursor->sig_count)
        return false;
    *sig = cursor->sigs[cursor->sig_count - number].sig;
    return true;
}

/* Steps over one item without taking it.  False: the bytes end first. */
static bool skip_item(struct trc_bytes *bytes, uint64_t kind)
{
    uint64_t n;
    if (kind == TRC_ITEM_FOLD)
        return trc_get_varint(bytes, &n) && trc_get_varint(bytes, &n) && trc_skip(bytes, 24);
    return trc_get_varint(bytes, &n) && trc_skip(bytes, n); /* SIG, LIKE, DONE */
}

/* Adds a signature of the chunk.  NULL: there are too many. */
static struct trc_signature *add_sig(struct trc_cursor *cursor, const struct trc_sig *sig)
{
    size_t room = cursor->sig_room;
    if (cursor->sig_count == room)
        room += room < 16 * SIGS_FIRST ? SIGS_FIRST : room;
    if (room > SIGS_MAX || !trc_file_grow(cursor->file, &cursor->sigs, &cursor->sig_room, room, sizeof *cursor->sigs))
        return NULL;
    struct trc_signature *fresh = &cursor->sigs[cursor->sig_count++];
    *fresh = (struct trc_signature){.sig = *sig, .wanted = true};
    return fresh;
}

/* Decodes a DONE item. */
static enum trc_step decode_done(struct trc_cursor *cursor, struct trc_bytes *bytes, const char **why)
{
    if (!skip_item(bytes, TRC_ITEM_DONE))
        return TRC_STEP_SHORT;
    if (!cursor->sig_count)
        return bad(why, "a signature like one that was not defined");
    struct trc_sig sig = cursor->sigs[cursor->sig_count - 1].sig;
    sig.flags = trc_done_flags(sig.flags);
    return add_sig(cursor, &sig) ? TRC_STEP_AGAIN : bad(why, "too many signatures");
}

/* A field of struct trc_sig, in the order of a SIG item. */
static const struct sig_field {
    uint8_t zigzag, size, offset;
} sig_fields[] = {
#define ZIGZAG_u                0
#define ZIGZAG_s                1
#define FIELD(type, name, kind) {ZIGZAG_##kind, sizeof(type), offsetof(struct trc_sig, name)},
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
};

static enum trc_step decode_sig(struct trc_cursor *cursor, struct trc_bytes *bytes, bool like, const char **why)
{
    const struct trc_file *file = cursor->file;
    uint64_t size, mask = UINT64_MAX;
    if (!trc_get_varint(bytes, &size) || size > (uint64_t)(bytes->end - bytes->at))
        return TRC_STEP_SHORT;
    struct trc_bytes body = {bytes->at, bytes->at + size};
    struct trc_sig sig = {.peer = TRC_PEER_NONE, .tag = TRC_TAG_NONE, .source = TRC_PEER_NONE, .rtag = TRC_TAG_NONE};
    bytes->at += size;
    if (like && !decode_original(cursor, &body, &sig, &mask))
        return bad(why, "a signature like one that was not defined");
    struct trc_signature *fresh = add_sig(cursor, &sig);
    if (!fresh)
        return bad(why, "too many signatures");
    uint64_t value;
    for (size_t i = 0; i < sizeof sig_fields / sizeof *sig_fields; i++) {
        const struct sig_field *field = &sig_fields[i];
        if (!(mask >> i & 1)) {
            if (field->offset == offsetof(struct trc_sig, received) && sig.received == sig.sent)
                fresh->sig.received = fresh->sig.sent;
            continue;
        }
        if (!trc_get_varint(&body, &value))
            break;
        if (field->zigzag)
            value = (uint64_t)trc_unzigzag(value);
        char *member = (char *)&fresh->sig + field->offset;
        if (field->size == 4)
            memcpy(member, &(uint32_t){(uint32_t)value}, 4);
        else
            memcpy(member, &value, 8);
    }
    trc_place_sig(file, &fresh->sig);
    return TRC_STEP_AGAIN;
}

/* Whether an item may stand within a row of FOLDs. */
static bool is_of_row(uint64_t kind)
{
    return kind == TRC_ITEM_FOLD || kind == TRC_ITEM_SIG || kind == TRC_ITEM_LIKE || kind == TRC_ITEM_DONE;
}

/* Whether anything follows the row of FOLDs that begins at `bytes`.  If not, its writer may still count polls into
 * them. */
static enum trc_step settle_row(struct trc_cursor *cursor, struct trc_bytes bytes)
{
    bool follows = false, reached = cursor->buffer_at + cursor->buffer_size >= cursor->limit;
    for (uint64_t kind; trc_get_varint(&bytes, &kind);) {
        if (is_of_row(kind) && skip_item(&bytes, kind))
            continue;
        follows = !is_of_row(kind) && kind != TRC_ITEM_END;
        reached |= kind == TRC_ITEM_END;
        break;
    }
    if (!follows && !reached && cursor->at > cursor->buffer_at)
        return TRC_STEP_SHORT; /* see more of it first */
    if (!follows && reached && !trc_cursor_is_complete(cursor))
        return TRC_STEP_HELD;
    cursor->row_settled = true;
    return TRC_STEP_AGAIN;
}

static enum trc_step decode_fold(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out,
                                 const char **why)
{
    uint64_t signature, gap, count, busy, span, begin, end;
    if (!trc_get_varint(bytes, &signature) || !trc_get_varint(bytes, &gap) || !trc_get_u64(bytes, &count) ||
        !trc_get_u64(bytes, &busy) || !trc_get_u64(bytes, &span))
        return TRC_STEP_SHORT;
    if (signature >= cursor->sig_count)
        return bad(why, "a signature that was not defined");
    if (!cursor->row_settled) {
        enum trc_step step = settle_row(cursor, trc_cursor_bytes(cursor));
        if (step != TRC_STEP_AGAIN)
            return step;
    }
    if (!cursor->in_row) {
        cursor->in_row = true;
        cursor->row_base = cursor->base;
    }
    if (__builtin_add_overflow(cursor->row_base, gap, &begin) || __builtin_add_overflow(begin, span, &end))
        return bad(why, "an impossible time");
    const struct trc_sig *sig = &cursor->sigs[signature].sig;
    if (end > cursor->base && !(sig->flags & TRC_SIG_NESTED))
        cursor->base = end;
    *out = (struct trc_record){.kind = TRC_RECORD_FOLD,
                               .sig = sig,
                               .of = &cursor->sigs[signature],
                               .begin = begin,
                               .end = end,
                               .count = count,
                               .busy = busy < span ? busy : span,
                               .request_thread = cursor->thread,
                               .request = UINT64_MAX};
    return TRC_STEP_RECORD;
}

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Reads the request of a COMPLETE item of a thread whose next START takes number `next_start`. */
static ALWAYS_INLINE bool decode_request(struct trc_bytes *bytes, uint32_t own, uint64_t next_start, uint16_t *thread,
                                         uint64_t *request)
{
    uint64_t v;
    *thread = (uint16_t)own;
    *request = UINT64_MAX;
    if (!trc_get_varint(bytes, &v))
        return false;
    if (v % 2 == 0) {
        if (v / 2 < next_start)
            *request = next_start - 1 - v / 2;
        return true;
    }
    if (v / 2 == own)
        return true; /* unknown */
    if (!trc_get_varint(bytes, request))
        return false;
    if (v / 2 < TRC_MAX_THREADS)
        *thread = (uint16_t)(v / 2);
    else
        *request = UINT64_MAX;
    return true;
}

/* Ways in which trc_item_decode_events decodes events of a signature.  UNUSUAL: it leaves them to decode_event, as it
 * does the first one of each signature, which sets this. */
enum way { UNUSUAL, CALL, START, MEET, COMPLETION };

static uint8_t way_of(uint32_t flags)
{
    const uint32_t request = TRC_SIG_SUB | TRC_SIG_COMPLETE;
    if (!(flags & (request | TRC_SIG_NESTED)))
        return flags & TRC_SIG_COLL ? MEET : flags & TRC_SIG_START ? START : CALL;
    return (flags & (request | TRC_SIG_COLL | TRC_SIG_START)) == request ? COMPLETION : UNUSUAL;
}

static enum trc_step decode_event(struct trc_cursor *cursor, struct trc_bytes *bytes, uint64_t signature,
                                  struct trc_record *restrict out, const char **why)
{
    if (signature >= cursor->sig_count)
        return bad(why, "a signature that was not defined");
    struct trc_signature *entry = &cursor->sigs[signature];
    uint32_t flags = entry->sig.flags;
    uint64_t begin = cursor->event_begin, end = cursor->event_end, sequence = 0;
    out->kind = TRC_RECORD_EVENT;
    out->sig = &entry->sig;
    out->of = entry;
    out->count = 1;
    out->request = UINT64_MAX;
    if (!(flags & TRC_SIG_SUB)) {
        uint64_t gap, duration;
        if (!trc_get_varint(bytes, &gap) || !trc_get_varint(bytes, &duration))
            return TRC_STEP_SHORT;
        if (__builtin_add_overflow(cursor->base, gap, &begin) || __builtin_add_overflow(begin, duration, &end))
            return bad(why, "an impossible time");
    }
    if (flags & TRC_SIG_COLL) {
        if (!trc_get_varint(bytes, &sequence))
            return TRC_STEP_SHORT;
        sequence += entry->sequence;
    }
    uint16_t thread = (uint16_t)cursor->thread;
    if (flags & TRC_SIG_COMPLETE && !decode_request(bytes, thread, cursor->next_start, &thread, &out->request))
        return TRC_STEP_SHORT;
    out->request_thread = thread;

    /* All of the item was read: now the cursor may move. */
    entry->way = way_of(flags);
    if (flags & TRC_SIG_COLL)
        entry->sequence = sequence;
    if (flags & TRC_SIG_START) {
        if (!(flags & TRC_SIG_COMPLETE))
            out->request = cursor->next_start;
        cursor->next_start++;
    }
    if (!(flags & TRC_SIG_SUB)) {
        cursor->event_begin = begin;
        cursor->event_end = end;
        if (!(flags & TRC_SIG_NESTED))
            cursor->base = end;
    }
    out->begin = begin;
    out->end = end;
    out->busy = end - begin;
    out->sequence = sequence;
    return TRC_STEP_RECORD;
}

static enum trc_step decode_round(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out,
                                  const char **why)
{
    uint64_t length, kind, comm, sequence, round, gap, duration, size, begin, end;
    if (!trc_get_varint(bytes, &length) || length > (uint64_t)(bytes->end - bytes->at))
        return TRC_STEP_SHORT;
    struct trc_bytes body = {bytes->at, bytes->at + length};
    if (!trc_get_varint(&body, &kind) || !trc_get_varint(&body, &comm) || !trc_get_varint(&body, &sequence) ||
        !trc_get_varint(&body, &round) || !trc_get_varint(&body, &gap) || !trc_get_varint(&body, &duration) ||
        !trc_get_varint(&body, &size))
        return bad(why, "a control round that is cut off");
    if (__builtin_add_overflow(cursor->base, gap, &begin) || __builtin_add_overflow(begin, duration, &end))
        return bad(why, "an impossible time");
    bytes->at += length;
    cursor->in_row = cursor->row_settled = false;
    size_t kept = (size_t)(body.end - body.at);
    *out = (struct trc_record){.kind = TRC_RECORD_ROUND,
                               .begin = begin,
                               .end = end,
                               .count = 1,
                               .busy = duration,
                               .sequence = sequence,
                               .said = {.kind = kind > UINT32_MAX ? 0 : (uint32_t)kind,
                                        .comm = comm > UINT32_MAX ? 0 : (uint32_t)comm,
                                        .round = round,
                                        .size = size,
                                        .kept = kept < size ? kept : (size_t)size,
                                        .bytes = body.at},
                               .request_thread = cursor->thread,
                               .request = UINT64_MAX};
    return TRC_STEP_ROUND;
}

static enum trc_step decode_region(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out,
                                   const char **why)
{
    uint64_t length, what, id, last, time = cursor->base;
    if (!trc_get_varint(bytes, &length) || length > (uint64_t)(bytes->end - bytes->at))
        return TRC_STEP_SHORT;
    struct trc_bytes body = {bytes->at, bytes->at + length};
    bool whole = trc_get_varint(&body, &what) && trc_get_varint(&body, &id) && trc_get_varint(&body, &last);
    if (!whole || what < TRC_REGION_BEGIN || what > TRC_REGION_OPEN || id > TRC_REGION_MOST ||
        (what == TRC_REGION_OPEN && (last < 1 || last > TRC_REGIONS_DEEP)))
        return bad(why, "a region that makes no sense");
    if (what != TRC_REGION_OPEN && __builtin_add_overflow(cursor->base, last, &time))
        return bad(why, "an impossible time");
    static const enum trc_record_kind kind[] = {
        [TRC_REGION_BEGIN] = TRC_RECORD_BEGIN, [TRC_REGION_END] = TRC_RECORD_END, [TRC_REGION_OPEN] = TRC_RECORD_OPEN};
    TRC_ASSERT_ROWS(kind, TRC_REGION_OPEN);
    bytes->at += length;
    cursor->in_row = cursor->row_settled = false;
    *out = (struct trc_record){.kind = kind[what],
                               .begin = time,
                               .end = time,
                               .count = what == TRC_REGION_OPEN ? last : 1,
                               .sequence = id,
                               .request_thread = cursor->thread,
                               .request = UINT64_MAX};
    return TRC_STEP_ROUND;
}

struct trc_record trc_item_lost(const struct trc_cursor *cursor, uint64_t end, uint64_t count)
{
    return (struct trc_record){.kind = TRC_RECORD_LOST,
                               .begin = cursor->base,
                               .end = end > cursor->base ? end : cursor->base,
                               .count = count,
                               .request_thread = cursor->thread,
                               .request = UINT64_MAX};
}

enum trc_step trc_item_decode(struct trc_cursor *cursor, struct trc_bytes *bytes, struct trc_record *out,
                              const char **why)
{
    uint64_t kind;
    if (!trc_get_varint(bytes, &kind))
        return TRC_STEP_SHORT;
    switch (kind) {
    case TRC_ITEM_END:
        return TRC_STEP_HOLE;
    case TRC_ITEM_SIG:
    case TRC_ITEM_LIKE:
        return decode_sig(cursor, bytes, kind == TRC_ITEM_LIKE, why);
    case TRC_ITEM_DONE:
        return decode_done(cursor, bytes, why);
    case TRC_ITEM_FOLD:
        return decode_fold(cursor, bytes, out, why);
    case TRC_ITEM_LOST: {
        uint64_t count;
        if (!trc_get_varint(bytes, &count))
            return TRC_STEP_SHORT;
        cursor->in_row = cursor->row_settled = false;
        *out = trc_item_lost(cursor, cursor->base, count);
        return TRC_STEP_RECORD;
    }
    case TRC_ITEM_ROUND:
        if (cursor->want_rounds)
            return decode_round(cursor, bytes, out, why);
        break;
    case TRC_ITEM_REGION:
        if (cursor->want_regions)
            return decode_region(cursor, bytes, out, why);
        break;
    default:
        break;
    }
    if (kind < TRC_ITEM_EVENT) {
        if (!skip_item(bytes, kind))
            return TRC_STEP_SHORT;
        cursor->in_row = cursor->row_settled = false;
        return TRC_STEP_AGAIN;
    }
    enum trc_step step = decode_event(cursor, bytes, kind - TRC_ITEM_EVENT, out, why);
    if (step == TRC_STEP_RECORD)
        cursor->in_row = cursor->row_settled = false;
    return step;
}

/* The state of a cursor while trc_item_decode_events decodes: a copy, which stays in registers. */
struct stand {
    uint64_t base, begin, end, next_start;
    uint32_t own;
    bool joined;
};

/* Decodes, at `p`, a request that the call before completed; returns its end, NULL: it is unusual. */
static ALWAYS_INLINE const uint8_t *decode_completion(struct stand *stand, const struct trc_signature *of,
                                                      const uint8_t *p, struct trc_brief *restrict out)
{
    struct trc_bytes bytes = {p, p + EVENT_MAX / 2};
    if (!decode_request(&bytes, stand->own, stand->next_start, &out->request_thread, &out->request))
        return NULL;
    out->joined = stand->joined;
    stand->joined |= of->wanted;
    out->sequence = 0;
    out->begin = stand->begin;
    out->end = stand->end;
    return bytes.at;
}

/* Decodes, at `p`, a call, alone, beginning a request, or in a collective; returns its end, NULL: it is unusual. */
static ALWAYS_INLINE const uint8_t *decode_call(struct stand *stand, struct trc_signature *of, const uint8_t *p,
                                                struct trc_brief *restrict out)
{
    uint64_t gap, duration, begin, end, further;
    if (of->way == UNUSUAL || !(p = trc_varint_at(p, &gap)) || !(p = trc_varint_at(p, &duration)) ||
        __builtin_add_overflow(stand->base, gap, &begin) || __builtin_add_overflow(begin, duration, &end))
        return NULL;
    out->request_thread = (uint16_t)stand->own;
    out->request = UINT64_MAX;
    out->sequence = 0;
    out->joined = false;
    if (of->way == MEET) {
        if (!(p = trc_varint_at(p, &further)))
            return NULL;
        out->sequence = of->sequence += further;
    }
    if (of->way == START || (of->way == MEET && of->sig.flags & TRC_SIG_START))
        out->request = stand->next_start++;
    out->begin = stand->begin = begin;
    out->end = stand->end = stand->base = end;
    stand->joined = of->wanted;
    return p;
}

size_t trc_item_decode_events(struct trc_cursor *cursor, struct trc_brief *restrict out, size_t max, uint64_t *left_out)
{
    if (!cursor->inside || cursor->buffer_size < EVENT_MAX)
        return 0;
    struct trc_bytes bytes = trc_cursor_bytes(cursor);
    const uint8_t *stop = bytes.end - EVENT_MAX; /* the last place where the longest item lies in the buffer whole */
    struct stand stand = {cursor->base,       cursor->event_begin, cursor->event_end,
                          cursor->next_start, cursor->thread,      cursor->joined};
    struct trc_signature *sigs = cursor->sigs;
    size_t sig_count = cursor->sig_count, taken = 0;
    struct trc_brief *next = out, *end = out + max;
    while (next < end && bytes.at <= stop) {
        uint64_t number;
        const uint8_t *at = trc_varint_at(bytes.at, &number);
        if (!at || number - TRC_ITEM_EVENT >= sig_count)
            break; /* no event: a lower number */
        struct trc_signature *of = &sigs[number - TRC_ITEM_EVENT];
        next->kind = TRC_RECORD_EVENT;
        next->of = of;
        at = of->way == COMPLETION ? decode_completion(&stand, of, at, next) : decode_call(&stand, of, at, next);
        if (!at)
            break;
        bytes.at = at;
        next += of->wanted;
        taken++;
    }
    if (taken == 0)
        return 0;
    cursor->base = stand.base;
    cursor->event_begin = stand.begin;
    cursor->event_end = stand.end;
    cursor->next_start = stand.next_start;
    cursor->joined = stand.joined;
    cursor->in_row = cursor->row_settled = false;
    cursor->at = cursor->buffer_at + (uint32_t)(bytes.at - cursor->buffer);
    cursor->delivered += taken;
    *left_out += taken - (size_t)(next - out);
    return (size_t)(next - out);
}
