/* Declarations shared by Horovod's analysis: horovod.c (reading, and results for callers), round.c (one cycle after
 * the other), tensor.c (effects of a cycle on tensors and steps). */
#pragma once

#include "trace/horovod/horovod.h"
#include "trace/horovod/wires.h"
#include "trace/job/upper.h"
#include "trace/util/times.h"
#include "trace/members/members.h"
#include <math.h>
#include <string.h>

#define HVD_STEPS 4096u /* kept of a set */
#define HVD_SITES 8u
/* Both tensors and ranks are counted in files: so members without a file, and cells of tensor and rank, are bounded. */
#define HVD_ABSENT       1024u
#define HVD_CELLS        (1u << 24)
#define HVD_MEMBER_CELLS 64u /* cost of a member in cells */

/* One record of a rank at one cycle (ROUND). */
struct hvd_contribution {
    uint32_t kind; /* enum trc_round_kind */
    uint64_t cycle, sequence;
    int64_t begin_ns, end_ns;
    size_t size; /* bytes kept */
    uint8_t *bytes;
};

/* A member of a set, beside what ana_hvd_rank shows. */
struct hvd_member {
    struct trc_file *file;          /* NULL: none */
    uint32_t comm;                  /* the set's communicator in this file */
    struct hvd_contribution *queue; /* read and not yet looked at, in order of cycles */
    size_t queued, queue_room, queue_at;
    uint64_t in[TRC_ROUND_WORDS]; /* words it puts in now, less the tensors agreed on */
    bool asking;                  /* asks by name in its last words, which hold until it says others */
    uint64_t words_cycle;
    bool answered;                        /* member 0: some tensor that it asked for was agreed on */
    uint64_t round_cycle, round_sequence; /* last AND written by it */
    int64_t first_ns;
    bool held;        /* nothing was read behind that */
    int64_t round_ns; /* end of the last control round read */
    struct {
        uint64_t site;
        uint32_t kind;
    } site[HVD_SITES]; /* kind of round by call site */
    uint32_t last_kind;
    double late_cycles, late_ms; /* lateness in the batch under way */
    double sum_cycles, sum_ms, last_sum_cycles, last_sum_ms;
};

struct hvd_work {
    struct hvd_member *member;
    struct ana_hvd_cache cache;
    struct ana_map names;      /* hash of a name, number among equals: uint32_t tensor */
    struct ana_map forms;      /* hash of a form: uint32_t 1 + its place */
    size_t *cells;             /* used by all sets together */
    struct ana_hvd_step *step; /* ring of HVD_STEPS, twice, so that the newest always lie in a row */
    uint64_t cycle;            /* looked at so far, + 1 */
    uint32_t batch;            /* tensors agreed on in the batch under way */
    uint64_t batch_first;
    int64_t batch_begin_ns, batch_end_ns;
    int64_t ended_ns; /* the step before */
    uint64_t sample_cycles;
    int64_t sample_ns;
};

/* A thread that runs a loop. */
struct hvd_lane {
    size_t index;
    uint32_t thread;
    struct trc_cursor *cursor;
    size_t set; /* set of the last control round read; SIZE_MAX: none */
};

struct ana_hvd_state {
    struct ana_hvd seen;
    struct hvd_work *work; /* one a set */
    struct hvd_lane *lane;
    size_t lanes, cells;
    unsigned generation, refreshes;
    bool begun;
};

/* Allocates `n` of the HVD_CELLS cells.  False: fewer are left, and none is allocated. */
static inline bool hvd_cells(size_t *used, size_t n)
{
    if (n > HVD_CELLS - *used)
        return false;
    *used += n;
    return true;
}

/* ---- tensor.c ---------------------------------------------------------------------------------------------------- */

#define HVD_STATUS_BITS 3u /* low bits of the first word; bit b of the cache is bit b + HVD_STATUS_BITS of the words */

/* Frees what a tensor has. */
void hvd_free_tensor(struct ana_hvd_tensor *tensor);
/* The number of a tensor by its name; -1 when there can be no more. */
int32_t hvd_tensor_of(struct ana_hvd_set *set, struct hvd_work *work, const char *name, size_t size);
/* The number of the tensor behind a bit; where its name is lost it gets one. */
int32_t hvd_tensor_at_bit(struct ana_hvd_set *set, struct hvd_work *work, uint32_t bit);
/* Copies the description of a tensor in a request or response. */
void hvd_learn(struct ana_hvd_tensor *tensor, const struct ana_hvd_entry *entry);
/* Returns the place, from 1 on, of a request's form in set->form; 0: there are too many forms. */
uint32_t hvd_form_of(struct ana_hvd_set *set, struct hvd_work *work, const struct ana_hvd_entry *entry);
/* A rank has submitted a tensor, by a request of this form (0: by its bit). */
void hvd_submit(struct ana_hvd_set *set, struct hvd_work *work, int32_t tensor, size_t member, uint64_t cycle,
                int64_t ns, uint32_t form);
/* Records that a tensor, submitted by all by this cycle, was agreed on, by name or by its bit, or was refused.
 * Returns whether member 0 can only now be known to have submitted it. */
bool hvd_agree(struct ana_hvd_set *set, struct hvd_work *work, int32_t tensor, uint64_t cycle, int64_t ns, bool by_name,
               const struct ana_hvd_entry *refused);
/* refusal.c: keeps that a tensor was refused, before its submitters are forgotten. */
void hvd_refuse(struct ana_hvd_set *set, size_t tensor, uint64_t cycle, int64_t ns, const struct ana_hvd_entry *entry);
/* Stores a step if it is one of the longest (steps.c). */
void hvd_store_slow(struct ana_hvd_set *set, const struct ana_hvd_step *step);
/* Finds what steps usually take (steps.c). */
void hvd_find_usual(struct ana_hvd_set *set);
/* Ends the step under way, if any tensor was agreed on in it. */
void hvd_end_step(struct ana_hvd_set *set, struct hvd_work *work);

/* gradients.c */
/* Types of tensors, by their code on the wire. */
enum { HVD_TYPES = 11 };
struct hvd_type {
    const char *name;
    uint8_t bytes;
};
extern const struct hvd_type hvd_types[HVD_TYPES];
/* Counts an operation on data, by its library. */
void hvd_carry(struct ana_hvd_set *set, const struct trc_call *call, const struct trc_sig *sig);
/* Returns the library of a call. */
enum ana_hvd_library hvd_library_of(const struct trc_call *call);
/* Finds the library that carries most of a set's data. */
void hvd_find_library(struct ana_hvd_set *set);

/* round.c */
/* Replays the rounds that members have queued, as far as they ended before `horizon_ns`, in job time. */
void hvd_rounds(struct ana_hvd_set *set, struct hvd_work *work, int64_t horizon_ns);
