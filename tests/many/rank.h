/* One rank of a made-up job: its file, written by the recorder's own writer as the plan goes. */
#ifndef TESTS_MANY_RANK_H
#define TESTS_MANY_RANK_H

#include "tests/many/plan.h"
#include "trace/format/format_digest.h"
#include "trace/writer/writer.h"

struct rank {
    int32_t number;
    struct trc_writer writer;
    struct trc_stream *stream;
    int64_t round; /* round of the next call */
    int next;      /* its number */
    bool inside;   /* of it */
};

/* Says when the job began, for all ranks: by the wall clock, and by the first host's CLOCK_MONOTONIC, in ns. */
void rank_epoch(uint64_t realtime_ns, uint64_t monotonic_ns);

/* The calls of all ranks by number. */
extern const struct trc_call rank_calls[];
extern const size_t rank_call_count;

/* Names host `number`, and its boot, as the files of its ranks do. */
void rank_host(struct trc_digest_head *head, int32_t number);

/* Makes the file of a rank in `folder`, at the begin of the job.  Ends the program if that fails. */
void rank_open(struct rank *rank, const struct plan *plan, int32_t number, const char *folder);

/* Writes all actions of the rank up to `now_ns`, and the call that it is inside. */
void rank_go_on(struct rank *rank, const struct plan *plan, int64_t now_ns);

/* The recorder's own thread was there at `now_ns`. */
void rank_beat(struct rank *rank, const struct plan *plan, int64_t now_ns);

/* Ends the file: by MPI_Finalize at `now_ns`, or as it is. */
void rank_close(struct rank *rank, const struct plan *plan, int64_t now_ns, bool finalized);

#endif
