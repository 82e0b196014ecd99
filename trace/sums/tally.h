/* Sums over events and relations: what the whole run and each time range add up to.
 * Pure: fed with numbers, asked by the summaries. */
#pragma once

#include "trace/cause/run_facts.h"
#include "trace/format/histogram.h"
#include "trace/util/hash_map.h"
#include "trace/relations/relations.h"
#include "trace/sums/event.h"
#include "trace/sums/store.h"
#include "trace/util/thread_pool.h"
#include "trace/util/times.h"

#define ANA_TALLY_SIZES           65u    /* trc_size_class() gives no more */
#define ANA_TALLY_PAIR_HISTOGRAMS 65536u /* pairs with a distribution of their latencies; others know their least */
/* Pairs of ranks with own sums of waits that any pair may have, divided by the waiters; least number of a waiter. */
#define ANA_TALLY_WAITS       65536u
#define ANA_TALLY_LEAST_WAITS 16u

/* Values of the maps. */
struct ana_call_sum { /* call number, size class */
    struct ana_times_small times;
    uint64_t sent, received;
    uint64_t passing; /* time range: calls in `times` that end after it */
    int64_t time_ns;  /* time range: time inside them, as far as it lies in it */
};
struct ana_thread_sum { /* rank index, thread */
    int64_t ns[TRC_CATEGORIES];
};
struct ana_site_sum { /* rank index, call number and region (ana_tally_site_call), address */
    struct ana_times_slim times;
    uint64_t sent, received;
    int64_t time_ns;            /* see ana_call_sum */
    int64_t inside_ns, wait_ns; /* main thread: inside calls; part of it: waiting for others; in a range of time */
};
struct ana_pair_sum {         /* source, destination */
    uint64_t messages, bytes; /* sent */
    uint64_t matched;
    int64_t latency_min_ns;         /* least latency of matched messages without a distribution */
    struct ana_times_slim *latency; /* NULL beyond ANA_TALLY_PAIR_HISTOGRAMS */
    uint64_t moved;                 /* bytes of matched messages */
    int64_t moving_ns, waited_ns;   /* see ana_size_sum */
};
/* Messages of one size that were seen at both ends. */
struct ana_size_sum {
    struct ana_times_small latency; /* send begun to receive completed */
    struct ana_times_small wait; /* messages that came late: time that the receiver had waited for the send to begin */
    uint64_t bytes;
    int64_t moving_ns; /* both ends begun to receive completed: what bytes are divided by */
};
struct ana_collective_sum { /* communicator identity, call number, place of trace/why + 1 (0: unknown) */
    const struct trc_comm *comm;
    struct ana_times_small skew;
    int64_t lost_ns;
};
struct ana_count_sum { /* key: index in `collectives`, index of the rank that came last */
    uint64_t count;
};
struct ana_wait_sum { /* ana_wait_key of kind and call, waiter, culprit (one ANA_ANY_RANK: other pairs) */
    uint64_t count;
    int64_t lost_ns;
    double squares; /* sum over the waits, see ana_wait */
};
#define ANA_WAIT_ASIDE (1ull << 63) /* mark in a key: other threads than the main one wait */
/* The key of waits like this one, by kind, job-wide number of the call, and whether the main thread waits. */
static inline uint64_t ana_wait_key(const struct ana_stored_wait *wait)
{
    return (uint64_t)wait->kind << 32 | wait->call | (wait->place && !wait->site ? ANA_WAIT_ASIDE : 0);
}
/* The kind in such a key. */
static inline enum ana_wait_kind ana_wait_key_kind(uint64_t key)
{
    return (enum ana_wait_kind)((key & ~ANA_WAIT_ASIDE) >> 32);
}
/* The job-wide number of the call in such a key. */
static inline uint32_t ana_wait_key_call(uint64_t key)
{
    return (uint32_t)key;
}
struct ana_rank_sum {
    uint64_t calls, sent, received, sent_messages, received_messages;
    uint64_t collectives, came_last;
    uint64_t pairs; /* sums of its waits in `waits` that ANA_TALLY_WAITS bounds */
};

struct ana_tally {
    size_t ranks;
    struct ana_rank_sum *rank;
    struct ana_map calls, threads, sites, pairs, collectives, last, waits;
    struct ana_size_sum *size[ANA_TALLY_SIZES]; /* size class -> sums; NULL: none yet */
    struct ana_times_small other_latency;       /* messages between pairs that have no distribution of their own */
    uint64_t clock_violations;
    bool out_of_memory;      /* something is missing from the sums */
    struct ana_queue *queue; /* queue of facts that add to `pairs` and `waits`; NULL: none */
};

/* Empty sums for a job of `ranks` ranks.  False: out of memory. */
bool ana_tally_init(struct ana_tally *tally, size_t ranks);
/* Frees them; the struct is the caller's. */
void ana_tally_free(struct ana_tally *tally);

/* The second key of a site's sum: a call in a region around it (ana_regions_around; 0: none). */
static inline uint64_t ana_tally_site_call(uint32_t call, uint32_t around)
{
    return call | (uint64_t)around << 32;
}
/* Looks up the sum of the event's site in a region around it, into event->use, which knows its call. */
void ana_tally_site(struct ana_tally *tally, const struct ana_event *event, uint32_t around);
/* Looks up what all events of the signature share, into event->use; `call` is the job-wide number of its call. */
void ana_tally_use(const struct ana_event *event, uint32_t call);
/* Adds an event by call and size, and by rank.  For time ranges; of whole runs the counters know better. */
void ana_tally_call(struct ana_tally *tally, const struct ana_event *event);
/* Adds the duration of a call that begins before the end of a range and ends after it, by call and size and by place.
 */
void ana_tally_passing(struct ana_tally *tally, const struct ana_event *event);
/* Adds the part of an event that lies in [begin_ns, end_ns), by category, by call and size and by place. */
void ana_tally_time(struct ana_tally *tally, const struct ana_event *event, int64_t begin_ns, int64_t end_ns);
/* Counts a message that was sent to the pair at this place, + 1; 0: nowhere. */
static inline void ana_tally_sent(struct ana_tally *tally, uint32_t place, uint64_t bytes)
{
    struct ana_pair_sum *pair = place ? ana_map_value(&tally->pairs, place - 1) : NULL;
    if (!pair)
        return;
    pair->messages++;
    pair->bytes += bytes;
}
/* Places of the sums of a message and of its waits, each + 1; 0: not looked up.  It lies in an ana_message's note:
 * places found for one message of a channel hold for the next. */
struct ana_tally_note {
    uint32_t pair;
    uint32_t comm; /* number of its communicator in the store */
    struct ana_tally_note_wait {
        const struct trc_call *call; /* call that the waits are in */
        uint32_t number;             /* job-wide number of `call` */
        uint32_t waits;
    } wait[2]; /* late sender, late receiver */
};

/* The place + 1 of the sums of a message's pair, made if there are none yet; 0: out of memory. */
uint32_t ana_tally_pair_place(struct ana_tally *tally, size_t source, size_t destination);
/* The first message of a pair (its place + 1) that was seen at both ends. */
void ana_tally_pair_begin(struct ana_pair_sum *pair, uint32_t place);
/* The places of the sums of such waits, made if there are none yet: at most two. */
struct ana_wait_places ana_tally_wait_places(struct ana_tally *tally, const struct ana_stored_wait *wait);

/* The sums of a size class, made if there are none yet; NULL: out of memory. */
struct ana_size_sum *ana_tally_size_make(struct ana_tally *tally, uint32_t size_class);

/* Returns the sums' increment by a kept message. */
static inline struct ana_run_transfer ana_tally_moved(const struct ana_stored_message *m, uint32_t pair)
{
    int64_t ready_ns = m->recv_begin_ns > m->send_begin_ns ? m->recv_begin_ns : m->send_begin_ns;
    return (struct ana_run_transfer){
        .latency_ns = m->recv_complete_ns - m->send_begin_ns,
        .moving_ns = m->recv_complete_ns > ready_ns ? m->recv_complete_ns - ready_ns : 0,
        .waited_ns = m->recv_wait_ns == INT64_MIN ? 0 : m->send_begin_ns - m->recv_wait_ns,
        .bytes = m->bytes,
        .pair = pair,
        .counts = true,
    };
}

/* Adds a message to the sums of its size and its pair. */
static inline void ana_tally_size(struct ana_tally *tally, const struct ana_run_transfer *m, struct ana_pair_sum *pair)
{
    uint32_t size_class = trc_size_class(m->bytes);
    struct ana_size_sum *sum = tally->size[size_class];
    if (__builtin_expect(!sum, 0) && !(sum = ana_tally_size_make(tally, size_class)))
        return;
    ana_small_add(&sum->latency, m->latency_ns, 1);
    sum->bytes += m->bytes;
    sum->moving_ns = ana_plus(sum->moving_ns, m->moving_ns);
    if (m->waited_ns > 0)
        ana_small_add(&sum->wait, m->waited_ns, 1);
    if (!pair)
        return;
    pair->moved += m->bytes;
    pair->moving_ns = ana_plus(pair->moving_ns, m->moving_ns);
    pair->waited_ns = ana_plus(pair->waited_ns, m->waited_ns > 0 ? m->waited_ns : 0);
}

/* Adds a message that was matched, if it counts; a negative latency is a clock violation.  False: out of memory. */
static inline bool ana_tally_message(struct ana_tally *tally, const struct ana_run_transfer *m)
{
    if (m->latency_ns < 0 || !m->counts) {
        tally->clock_violations += m->counts;
        return true;
    }
    struct ana_pair_sum *pair = m->pair ? ana_map_value(&tally->pairs, m->pair - 1) : NULL;
    if (pair && pair->matched++ == 0)
        ana_tally_pair_begin(pair, m->pair);
    ana_tally_size(tally, m, pair);
    if (pair && pair->latency)
        return ana_slim_add(pair->latency, m->latency_ns, 1);
    ana_small_add(&tally->other_latency, m->latency_ns, 1);
    if (pair && m->latency_ns < pair->latency_min_ns)
        pair->latency_min_ns = m->latency_ns;
    return true;
}
/* The distribution of the latencies of all messages. */
void ana_tally_latency(const struct ana_tally *tally, struct ana_times_small *out);
/* Adds an instance of a collective; ana_tally_part adds its participants. */
void ana_tally_instance(struct ana_tally *tally, const struct ana_stored_instance *instance);
/* Counts that a rank took part in an instance, and whether it came last. */
void ana_tally_part(struct ana_tally *tally, size_t index, bool last);
/* Adds a wait to its sums. */
static inline void ana_tally_wait(struct ana_tally *tally, struct ana_wait_places places, int64_t wait_ns)
{
    for (uint32_t place = places.sum; place; place = places.other, places.other = 0) {
        struct ana_wait_sum *sum = ana_map_value(&tally->waits, place - 1);
        double ns = (double)wait_ns;
        sum->count++;
        sum->lost_ns = ana_plus(sum->lost_ns, wait_ns);
        sum->squares += ns * ns;
    }
}
