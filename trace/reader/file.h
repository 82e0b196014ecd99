/* Inside an open trace file: what the reader's own files share.  Not for others; they use trace/reader/reader.h.
 *
 * Nothing is mapped: a mapped file that somebody truncates kills its reader with SIGBUS, and on a network file system a
 * mapping is stale.  Everything is pread into memory of our own, checked there, and a chunk's identity is checked again
 * after the copy, since its writer may have recycled it meanwhile. */
#ifndef TRC_FILE_H
#define TRC_FILE_H

#include "trace/reader/reader.h"
#include "trace/format/schema.h"
#include "trace/util/text.h"

#define TRC_DAMAGE_MAX 32u /* lines kept */
#define TRC_CHUNKS_MAX                                                                                                 \
    (1u << 18) /* chunks looked at (64 GiB of usual ones): bounds what a hostile, sparse file costs */
#define TRC_WORLD_MAX    (1 << 24)    /* ranks: more is damage, not a machine */
#define TRC_DEFS_MAX     (1ull << 30) /* bytes of definitions read, likewise */
#define TRC_ITEMS_OFFSET ((uint32_t)sizeof(struct trc_chunk))

/* Definitions by a key; filled unsorted, sealed by sorting, the first of equals kept.  Values are malloc'ed. */
struct trc_table_entry {
    uint64_t key;
    size_t order;
    void *value;
};
struct trc_table {
    struct trc_table_entry *entries;
    size_t count, sealed, room;
};

struct trc_comm_def {
    struct trc_comm comm; /* first: what trc_comm returns */
    uint64_t created, freed;
    bool is_freed;
    char *name;
};
struct trc_object_def {
    struct trc_object object;
    uint64_t created;
    char name[];
};
struct trc_site_def {
    const char *function, *module; /* in `text`, or NULL */
    char text[];
};

struct trc_fact_def {
    uint64_t ticks;
    const char *value; /* in `key`, behind its end */
    char key[];
};
struct trc_stack_def {
    struct trc_stack stack; /* first: what trc_stack returns */
    uint32_t chunk;
    size_t order;
    char text[];
};

/* What has been read of one DEFS or STACKS chunk: a bit for each slot that needs no second look. */
struct trc_defs_chunk {
    uint32_t read;       /* slots that were looked at once */
    uint32_t first_hole; /* the first that needs another look */
    uint64_t sequence;   /* of the chunk: another one since means that its stacks are gone */
    uint8_t seen[];
};

struct trc_live {
    uint32_t chunk;
    bool settled;                 /* unchanged between the last two refreshes */
    size_t there;                 /* bytes of it; fewer than its size: the file ends within it */
    struct trc_thread seen;       /* as it was in the file */
    struct trc_thread_chunk page; /* its counters completed */
};

/* One EVENTS chunk, in the order of its thread. */
struct trc_event_ref {
    uint32_t thread, chunk;
    uint64_t sequence;
};

struct trc_file {
    char *path;
    int fd;
    uint64_t size; /* at the last look */
    struct trc_head head;
    double ns_per_tick;
    bool final;       /* trc_set_final */
    bool seen_alive;  /* the heartbeat moved between two refreshes: this reader watches the file grow */
    bool spoilt;      /* was longer, or had a head */
    bool truncated;   /* ends before the chunks that its head counts */
    bool check_again; /* FULL chunks may have been recycled */
    uint64_t refreshes;

    struct trc_schema schema;
    struct trc_call *calls;

    struct trc_chunk *chunks; /* heads as last seen; magic 0: nothing to be read there */
    uint32_t chunk_count;     /* of them */
    uint32_t chunk_room;
    struct trc_event_ref *events; /* sorted by thread, then sequence */
    size_t event_count, event_room;

    struct trc_live *live[TRC_MAX_THREADS];
    size_t threads; /* highest index of a live page or an EVENTS chunk + 1 */

    struct trc_gpu *gpu; /* NULL: no table */

    struct trc_table comms, objects, sites, kernels;
    struct trc_fact_def **facts; /* sorted by key */
    size_t fact_count, fact_room;
    uint64_t facts_seen;
    struct trc_stack_def **stacks; /* sorted by snapshot and order */
    size_t stack_count, stack_room, stacks_seen;
    struct trc_defs_chunk **defs; /* by chunk number; NULL for those of other kinds */
    uint32_t defs_room;
    uint64_t defs_bytes; /* looked at */

    char *damage[TRC_DAMAGE_MAX + 1];
    size_t damage_count;
};

/* io.c */
size_t trc_file_read(const struct trc_file *file, uint64_t offset, void *buffer,
                     size_t size); /* bytes that are there */
void trc_file_damage(struct trc_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool trc_file_growing(const struct trc_file *file); /* its writer may add to it */

/* head.c */
/* A whole head, its `latest` anchor consistent; false if it could not be had. */
bool trc_head_read(const struct trc_file *file, struct trc_head *head);
/* Why a head, of which `got` bytes are there, is not one that can be read (perhaps in `text`); NULL if it is. */
const char *trc_head_refuse(const struct trc_head *head, size_t got, char *text, size_t size);
/* Takes a freshly read head over, clamped.  The layout never changes after opening. */
void trc_head_adopt(struct trc_file *file, struct trc_head *head);

/* chunks.c */
bool trc_chunks_refresh(struct trc_file *file); /* true if anything moved */
uint64_t trc_chunk_offset(const struct trc_file *file, uint32_t chunk);
/* First event chunk of `thread` with this sequence or a later one; file->event_count or one of another thread if none.
 */
size_t trc_events_from(const struct trc_file *file, uint32_t thread, uint64_t sequence);
/* Does the chunk still carry what `known` says?  *now (may be NULL) is set to its head of this moment if so. */
bool trc_chunk_same(const struct trc_file *file, uint32_t chunk, const struct trc_chunk *known, struct trc_chunk *now);

/* live.c */
bool trc_live_refresh(struct trc_file *file);

/* gpu.c */
bool trc_gpu_refresh(struct trc_file *file);

/* defs.c */
bool trc_defs_refresh(struct trc_file *file);
void trc_defs_free(struct trc_file *file);
/* facts.c: facts and stacks, whose definitions defs.c comes across */
void trc_define_fact(struct trc_file *file, const struct trc_def *def, const char *text, size_t size);
void trc_define_stack(struct trc_file *file, uint32_t chunk, const struct trc_def *def, const char *payload,
                      size_t size);
void trc_forget_stacks(struct trc_file *file, uint32_t chunk); /* the chunk was begun anew */
void trc_facts_seal(struct trc_file *file);
void trc_facts_free(struct trc_file *file);
void *trc_table_find(const struct trc_table *table, uint64_t key);

#endif
