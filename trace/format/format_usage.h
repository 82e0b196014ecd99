/* Counts of the kernel for the process, a part of the file (format.h): items in chunks of kind TRC_CHUNK_USAGE.
 *
 * An item has the counts since the one before it; the first of a chunk, since trc_chunk.first_ticks.  It is
 *
 *     varint n, then n bytes: varint ticks since then, and any number of entries
 *     entry: varint whose (enum trc_usage_whose), varint fields, and a varint for each bit that is set, lowest first
 *
 * An entry without fields says that its owner is counted from here on.  For an owner that is counted and has no entry
 * in an item, nothing rose; a field that is never there cannot be counted on this machine.  Switches of threads and the
 * counts of the node are read once a second.  There is an item each heartbeat in which something rose, and an empty one
 * at the begin of that time where that is not the item before. */
#pragma once

#include <stdint.h>

enum trc_usage_whose {
    TRC_USAGE_PROCESS = 0, /* all its threads, the recorder's own among them */
    TRC_USAGE_NODE = 1,    /* the network as this process sees it; others see the same */
    TRC_USAGE_THREAD = 2   /* threads, from here up: less this, the index of a live page */
};

/* USAGE(id, name): user time and instructions without what the kernel does for the thread */
#define TRC_USAGE_LIST(USAGE)                                                                                          \
    USAGE(CPU, "cpu_us")         /* time on a processor */                                                             \
    USAGE(QUEUED, "queued_us")   /* ready to run without a processor; of the process: the recorder's own thread */     \
    USAGE(SYSTEM, "system_us")   /* part of cpu_us in the kernel; often in steps of 10 ms */                           \
    USAGE(MINOR, "minor_faults") /* page faults without reading a disk */                                              \
    USAGE(MAJOR, "major_faults") /* page faults that read a disk */                                                    \
    USAGE(VOLUNTARY, "voluntary_switches")     /* it waited for something */                                           \
    USAGE(INVOLUNTARY, "involuntary_switches") /* another thread took its processor */                                 \
    USAGE(READ, "read_bytes")                  /* bytes from storage, by the process */                                \
    USAGE(WRITTEN, "written_bytes")            /* to storage */                                                        \
    USAGE(INSTRUCTIONS, "instructions")        /* user mode; this and the next if perf_event_open is allowed */        \
    USAGE(CYCLES, "cycles")                                                                                            \
    USAGE(RETRANSMITS, "retransmits")   /* node's count of TCP segments sent again */                                  \
    USAGE(LINK_SENT, "link_sent_bytes") /* bytes on the node's links, loopback left out */                             \
    USAGE(LINK_RECEIVED, "link_received_bytes")                                                                        \
    USAGE(LINK_ERRORS, "link_errors")  /* packets that were damaged or dropped */                                      \
    USAGE(LINK_WAITS, "link_waits")    /* InfiniBand: ticks in which a port had data and no credit to send it */       \
    USAGE(CHILDREN, "children_cpu_us") /* processor time of child processes and theirs */                              \
    USAGE(BEATS, "heartbeats")         /* signs of life of the recorder, one each TRC_BEAT_NS while it can run */

enum trc_usage_field {
#define USAGE(id, name) TRC_USAGE_##id,
    TRC_USAGE_LIST(USAGE)
#undef USAGE
        TRC_USAGE_FIELDS
};

/* Counts of one owner; `fields`: the known ones, a bit each by enum trc_usage_field. */
struct trc_usage {
    uint32_t whose;
    uint32_t fields;
    uint64_t value[TRC_USAGE_FIELDS];
};

#define TRC_BEAT_NS         100000000 /* pause between heartbeats */
#define TRC_USAGE_ITEM_MAX  16384u    /* bytes of an item */
#define TRC_USAGE_ENTRY_MAX (4u + 10u * TRC_USAGE_FIELDS)
