/* Inside an open trace file: what the reader's own files share.  Not for others; they use trace/reader/reader.h.
 *
 * Nothing is mapped: a mapped file that somebody truncates kills its reader with SIGBUS, and on a network file system a
 * mapping is stale.  Everything is pread into memory of our own, checked there, and a chunk's identity is checked again
 * after the copy, since its writer may have recycled it meanwhile. */
#pragma once

#include "trace/reader/reader.h"
#include "trace/util/budget.h"
#include "trace/util/text.h"

#define TRC_DAMAGE_MAX 32u /* lines kept */
#define TRC_CHUNKS_MAX                                                                                                 \
    (1u << 18)                        /* chunks read (64 GiB of usual ones), and blocks that begin none: bounds the cost
                                     * of a hostile, sparse file */
#define TRC_WORLD_MAX    (1 << 24)    /* ranks: more is damage, not a machine */
#define TRC_DEFS_MAX     (1ull << 30) /* bytes of definitions read: bounds the cost, too */
#define TRC_MEMORY       32u          /* bytes that are allocated for each byte of a file, at most */
#define TRC_HOLES_MAX    64u          /* places between chunks that are looked at again */
#define TRC_USES_PART    4u           /* uses in one part of a live page's list */
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
    const char *function, *module; /* pointers into `text`, or NULL */
    const char *near;              /* for an unknown function "near f+0x12 in libx.so", in `text`; or NULL */
    const struct trc_cxx *cxx;     /* C++ name, or NULL */
    bool forwards;                 /* is in a wrapper, or in a library between programs and MPI */
    bool interprets;               /* is in an interpreter of scripts */
    char text[];
};

struct trc_module_def {
    uint64_t begin, end;
    char path[]; /* "": the program's */
};
struct trc_fact_def {
    uint64_t ticks;
    const char *value; /* pointer into `key`, behind its end */
    char key[];
};
struct trc_stack_def {
    struct trc_stack stack; /* first: what trc_stack returns */
    uint32_t chunk;
    size_t order, bytes; /* bytes: of the struct with its text */
    char text[];
};

/* Progress in one DEFS or STACKS chunk: a bit for each slot that needs no second look. */
struct trc_defs_chunk {
    uint32_t read;       /* slots that were looked at once */
    uint32_t first_hole; /* the first that needs another look */
    bool stacks;         /* it has stacks */
    uint64_t sequence;   /* sequence of the chunk: another one since means that they are gone */
    uint8_t seen[];
};

/* A live page: a copy whose counters are completed. */
struct trc_live {
    uint32_t chunk;
    bool placed;   /* the signatures of its last calls have their paths */
    bool settled;  /* unchanged between the last two refreshes */
    bool cut;      /* the file ends within it */
    bool controls; /* the thread has made control rounds */
    uint64_t seen; /* hash of the thread as it was in the file */
    struct trc_thread thread;
    struct trc_device_stream of;
    uint32_t short_of_rows;   /* see struct trc_page */
    struct trc_counter *rows; /* indexed by number, less 1; call_plus_1 is 0 if one is missing */
    struct trc_peer *peers;
    size_t row_count, row_room, peer_count, peer_room;
    struct trc_use **uses; /* parts in order of arrival, which never move */
    size_t use_parts, use_count;
};

/* One EVENTS chunk, in the order of its thread. */
struct trc_event_ref {
    uint32_t thread, chunk;
    uint64_t sequence;
};

/* The file's descriptor.  As many files keep theirs as the process may have, less some; the others open it anew each
 * time that they read. */
struct trc_descriptor {
    int fd; /* -1: closed */
    bool kept;
    unsigned held; /* number of holders who will read on */
    uint64_t device, inode;
};

/* Blocks that begin no chunk (yet). */
struct trc_hole {
    uint32_t from, to;
};

struct trc_file {
    char *path;
    struct trc_descriptor *descriptor;
    uint64_t size;            /* bytes at the last look */
    struct ana_budget budget; /* memory that grows with the file's content */
    struct trc_head head;
    double ns_per_tick;
    bool final;       /* trc_set_final */
    bool seen_alive;  /* the heartbeat moved between two refreshes: this reader watches the file grow */
    bool spoilt;      /* was longer, or had a head */
    bool truncated;   /* ends before the chunks that its head counts */
    bool check_again; /* FULL chunks may have been recycled */
    uint64_t refreshes;
    struct trc_anchor complete; /* head.latest when all of it was read last */
    uint64_t progress;          /* progress of a later digest; 0: none did */
    bool wanted;                /* trc_want */
    bool behind;                /* trc_behind */

    struct trc_call_def **calls; /* calls in order of definition; they never move */
    uint16_t *call_at;           /* indexed by id: place in `calls`, + 1; 0: none */
    size_t call_count, call_room, call_ids;

    struct trc_chunk *chunks; /* chunks in order of discovery: heads as last seen, each with its place; magic 0: not
                                 to be read */
    uint32_t chunk_count;     /* of them */
    size_t chunk_room;
    uint32_t block_end;     /* end of the file */
    uint32_t searched;      /* blocks up to here were looked at, holes too */
    struct trc_hole *holes; /* room for TRC_HOLES_MAX; NULL: there was none so far */
    uint32_t hole_count, steps;
    struct trc_event_ref *events; /* sorted by thread, then sequence */
    size_t event_count, event_room;

    struct trc_live **live; /* indexed by thread: NULL if it has no page */
    size_t live_room;
    size_t threads; /* highest index of a live page or an EVENTS chunk + 1 */

    struct trc_gpu *gpu; /* NULL: no table */

    union {
        struct {
            struct trc_table comms, objects, sites, kernels, regions, data, left, ranks, paths, offs, modules, guessed;
        };
        struct trc_table tables[12]; /* the same */
    };
    struct trc_fact_def **facts; /* sorted by key */
    size_t fact_count, fact_room;
    uint64_t facts_seen;
    struct trc_stack_def **stacks; /* sorted by snapshot and order */
    size_t stack_count, stack_room, stacks_seen;
    struct trc_defs_chunk **defs; /* indexed by chunk number; NULL for other kinds */
    size_t defs_room;
    uint64_t defs_bytes; /* looked at */

    char **damage;
    size_t damage_count;
};

/* descriptor.c */
/* Opens the file's descriptor; NULL, and errno, if it cannot be. */
struct trc_descriptor *trc_descriptor_open(const char *path);
/* Frees it; NULL is none. */
void trc_descriptor_close(struct trc_descriptor *descriptor);
/* Holds the descriptor open until trc_file_release; -1: it cannot be opened, or there is another file by now.  Each
 * call needs one of that. */
int trc_file_hold(const struct trc_file *file);
/* Ends a trc_file_hold. */
void trc_file_release(const struct trc_file *file);
/* Opens the file again, as network file systems require before they show new data.  On failure the old descriptor
 * stays.  False: errno says why. */
bool trc_file_reopen(const struct trc_file *file);

/* io.c */
/* Reads up to `size` bytes at `offset`; returns how many are there.  Interrupted reads go on. */
size_t trc_file_read(const struct trc_file *file, uint64_t offset, void *buffer, size_t size);
/* Adds a line to the file's damage, unless it is there already or there are TRC_DAMAGE_MAX.  Returns false. */
bool trc_file_damage(struct trc_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Allocates zeros, which are charged to the file's budget.  NULL: they do not fit, which is damage. */
void *trc_file_alloc(struct trc_file *file, size_t bytes);
/* Makes room for `wanted` elements of `size` bytes in an array of such memory, whose address `array` is and which has
 * room for *room; new ones are zero.  False: over budget or out of memory, and nothing has changed. */
bool trc_file_grow(struct trc_file *file, void *array, size_t *room, size_t wanted, size_t size);
/* Makes room for one more than `count` elements: twice as much where there is none left. */
bool trc_file_room(struct trc_file *file, void *array, size_t *room, size_t count, size_t size);
/* Whether its writer may still add to it. */
bool trc_file_growing(const struct trc_file *file);

/* head.c */
/* Reads a whole head whose `latest` anchor is consistent; false if there was none to be had. */
bool trc_head_read(const struct trc_file *file, struct trc_head *head);
/* Returns the reason that a head, read for `got` bytes, cannot be used; NULL if it can.  The reason may be written to
 * `text`. */
const char *trc_head_refuse(const struct trc_head *head, size_t got, char *text, size_t size);
/* Stores a head that was just read, its numbers clamped.  The layout never changes after opening. */
void trc_head_adopt(struct trc_file *file, struct trc_head *head);

/* chunks.c */
/* Reads the heads of chunks that may have changed; true if any did. */
bool trc_chunks_refresh(struct trc_file *file);
/* The offset in bytes of a chunk in the file. */
uint64_t trc_chunk_offset(const struct trc_file *file, uint32_t chunk);
/* Number of bytes behind a chunk's head. */
uint32_t trc_chunk_room(const struct trc_file *file, const struct trc_chunk *chunk);
/* Index into file->events of the first chunk of `thread` with this sequence or a later one.  If there is none, the
 * index of another thread's chunk, or file->event_count. */
size_t trc_events_from(const struct trc_file *file, uint32_t thread, uint64_t sequence);
/* Whether two heads are of the same use of a chunk. */
bool trc_chunk_is(const struct trc_chunk *a, const struct trc_chunk *b);
/* Whether the chunk still is what `known` says.  If so, *now (may be NULL) is set to its head as it is in the file now.
 */
bool trc_chunk_same(const struct trc_file *file, uint32_t chunk, const struct trc_chunk *known, struct trc_chunk *now);

/* live.c */
/* Reads the live pages again; true if any changed. */
bool trc_live_refresh(struct trc_file *file);
/* The copy of a thread's page; NULL: it has none. */
static inline struct trc_live *trc_live_page(const struct trc_file *file, size_t thread)
{
    return thread < file->live_room ? file->live[thread] : NULL;
}
/* Assigns the signatures of the last calls their paths, once these are defined. */
void trc_live_place(struct trc_file *file);
/* Frees them. */
void trc_live_free(struct trc_file *file);

/* gpu.c */
/* Reads the table of device operations again; true if it changed. */
bool trc_gpu_refresh(struct trc_file *file);

/* defs.c */
/* Reads definitions that came since, and stacks; true if there were any. */
bool trc_defs_refresh(struct trc_file *file);
/* Frees all definitions, facts and stacks of a file that is being closed. */
void trc_defs_free(struct trc_file *file);
/* Adds a value, which the table owns from then on; found once the table is sealed, and then the first of each key.
 * Out of memory: it is freed. */
void trc_table_add(struct trc_file *file, struct trc_table *table, uint64_t key, void *value);
/* calls.c */
/* Stores the definition of a call: `text` is its name. */
void trc_define_call(struct trc_file *file, const struct trc_def *def, const char *text, size_t size);
/* Frees the calls. */
void trc_calls_free(struct trc_file *file);
/* data.c */
/* Stores what a call moves.  One that is too short is damage. */
void trc_define_data(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size);
/* Stores an interval in which recording was off. */
void trc_define_off(struct trc_file *file, const struct trc_def *def);
/* Stores an object that was never freed; `text` names its kind. */
void trc_define_left(struct trc_file *file, const struct trc_def *def, const char *text, size_t size);
/* Stores a list of ranks. */
void trc_define_ranks(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size);
/* sites.c: keeps a call site: `text` is its function, a NUL, its module and, if any, a NUL and the nearest function. */
void trc_define_site(struct trc_file *file, const struct trc_def *def, const char *text, size_t size);
/* Stores the file that is mapped at an address. */
void trc_define_module(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size);
/* Defines the sites of paths that have no definition, by the modules that they lie in.  All tables are sealed. */
void trc_guess_sites(struct trc_file *file);
/* The definition of a site, or a guessed one; NULL: none. */
const struct trc_site_def *trc_site_named(const struct trc_file *file, uint64_t site);
/* paths.c */
/* `site` of a signature with a path: this bit, and the path's id below. */
#define TRC_SITE_PATH ((uint64_t)1 << 62)
/* Decodes the definition of a call path.  One that is too long is damage. */
void trc_define_path(struct trc_file *file, const struct trc_def *def, const char *payload, size_t size);
/* Replaces the site of a signature by its path, if that is defined. */
void trc_place_sig(const struct trc_file *file, struct trc_sig *sig);
/* Sets `forwards` and `interprets` of a call site by the names of its function and file. */
void trc_site_classify(struct trc_site_def *site);
/* facts.c */
/* Stores a fact: `text` is its key, a NUL and its value.  Dropped when out of memory or there are too many. */
void trc_define_fact(struct trc_file *file, const struct trc_def *def, const char *text, size_t size);
/* Stores a stack that was read in STACKS chunk `chunk`.  One that is too short is damage. */
void trc_define_stack(struct trc_file *file, uint32_t chunk, const struct trc_def *def, const char *payload,
                      size_t size);
/* Drops the stacks of a chunk that was begun anew. */
void trc_forget_stacks(struct trc_file *file, uint32_t chunk);
/* Sorts facts and stacks after some came; of equal keys the latest fact stays. */
void trc_facts_seal(struct trc_file *file);
/* Frees facts and stacks. */
void trc_facts_free(struct trc_file *file);
/* The definition with this key in a sealed table; NULL if there is none. */
void *trc_table_find(const struct trc_table *table, uint64_t key);
