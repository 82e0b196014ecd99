/* Inside the judgement of Horovod's loops: what its rules (judge.c) and its words (say.c) share. */
#ifndef ANA_HOROVOD_JUDGE_H
#define ANA_HOROVOD_JUDGE_H

#include "trace/horovod/horovod_impl.h"

#define HVD_NOTABLE_NS 1000000000 /* nothing shorter is worth a word */

struct hvd_judge {
    const struct ana_job *job;
    const struct ana_hvd_set *set;
    const struct hvd_work *work;
    struct ana_hvd_finding *out;
    int64_t hang_ns, notable_ns; /* this long is hung; is worth a word */
    bool over;                   /* no process is left */
    uint8_t *culprit;            /* by member */
};

/* Adds a line of evidence; it is dropped when there is no room. */
__attribute__((format(printf, 2, 3))) void hvd_say(struct ana_hvd_finding *out, const char *format, ...);

/* "rank 5", "ranks 0-2, 4": of the members that are marked with `value`. */
void hvd_names(const struct hvd_judge *judge, const uint8_t *mark, uint8_t value, char *out, size_t size);

/* Fills in class, since when, whether that is hung, and who the culprits are. */
void hvd_finish(struct hvd_judge *judge, enum ana_hvd_class id, int64_t since_ns);

/* Whether the heartbeat of member `m` has ended while those of others went on. */
bool hvd_is_silent(const struct hvd_judge *judge, size_t m);

/* Adds where member `m` is, as far as its own file tells. */
void hvd_say_where(struct hvd_judge *judge, size_t m);

/* Adds the tensors that are pending, with the ranks that have and have not submitted them: a line each. */
void hvd_say_tensors(struct hvd_judge *judge);

/* ---- judge_pending.c */

/* The pending tensor that tells most; NULL: none. */
const struct ana_hvd_tensor *hvd_pending(const struct hvd_judge *judge);

/* Tensors are pending and nothing moves: finds who has not submitted them.  False: it is something else. */
bool hvd_not_submitted(struct hvd_judge *judge);

#endif
