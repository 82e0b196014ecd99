/* The digest of a node: what its ranks are at.  While somebody watches, one recorder of each node writes it once a
 * second into the folder of the trace, over the last one, so that a reader has one small file a node to read in place
 * of a live page a rank.  A digest only says again what the traces say; whoever finds it damaged or old reads these.
 *
 *   HOST.BOOT.live    trc_digest_head, then head.size - sizeof head bytes of varints (LEB128; z: zigzag):
 *
 *   class, head.classes times: what threads are inside; equal ones share it
 *       threads, call, flags, communicator, z peer, z tag, z source, z rtag, bytes sent, bytes received
 *   rank, head.ranks times
 *       pid, pid_start, pid namespace (as in the head of its trace), flags (enum trc_digest_flag), change, heartbeats,
 *       latest: ticks, monotonic ns, z (realtime ns - head.realtime_ns), error ticks; progress, threads; then each
 *       thread: index (of its live page), tid, inside (signature index + 1), and if that is not 0: its class, z
 *       (latest.ticks - inside_since), inside_sequence; then last, z (latest.ticks - last_end), calls, mpi ticks, sent,
 *       received, sent messages, received messages, starts, completes: as in trc_thread, with what trc_use.uses held
 *
 * `change` is another number whenever anything in the trace is that a reader would show, but for the heartbeat: its
 * live pages, definitions, stacks, state. */
#pragma once

#include "trace/format/format.h"

#define TRC_DIGEST_MAGIC   "hplive\r\n"
#define TRC_DIGEST_VERSION 1u
#define TRC_DIGEST_SUFFIX  ".live"
#define TRC_DIGEST_REQUEST "live.request" /* file whose modification time changes while somebody watches */
#define TRC_DIGEST_LAPSE_S 10             /* seconds without a change after which nobody does */

#define TRC_DIGEST_RANKS   1024u /* ranks of a node; more have no place */
#define TRC_DIGEST_CLASSES 256u
#define TRC_DIGEST_THREADS 8u           /* threads of a rank, streams of a GPU not counted */
#define TRC_DIGEST_MOST    (512u << 10) /* bytes of a digest */

struct trc_digest_head {
    char magic[8];
    uint32_t version;
    uint32_t size;     /* bytes of the whole */
    uint64_t checksum; /* trc_digest_sum of all behind this field */
    uint64_t sequence; /* rises with each digest; goes on from one writer to the next */
    uint64_t writer;   /* tells writers apart */
    uint64_t realtime_ns;
    uint32_t classes, ranks;
    char boot_id[40];
    char host[64];
};

enum trc_digest_flag {
    TRC_DIGEST_WHOLE = 1u /* all live pages of it were read; without it only its trace says where it is */
};

struct trc_digest_class {
    uint32_t threads;
    struct trc_sig sig; /* site and object left 0: they differ between processes */
};

struct trc_digest_thread {
    uint32_t class; /* class of inside, + 1; 0: it is in no class */
    struct trc_thread thread;
};

/* One rank as a digest says it. */
struct trc_digest_rank {
    uint64_t pid, pid_start, pid_namespace;
    uint64_t flags, change, heartbeats;
    struct trc_anchor latest;
    uint64_t progress; /* completed calls that are no polls and not local, of streams all */
    uint32_t threads;
    struct trc_digest_thread thread[TRC_DIGEST_THREADS];
};

/* A checksum that anybody may make: it tells a digest that is being written from a whole one. */
static inline uint64_t trc_digest_sum(const void *bytes, uint64_t size, uint64_t sum)
{
    const unsigned char *at = bytes;
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        __builtin_memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 29;
    }
    for (; size; size--)
        sum = (sum ^ *at++) * 0x100000001b3u;
    return sum;
}

_Static_assert(sizeof(struct trc_digest_head) == 160, "digest head");
