/* Calls that have not ended, and the account of the time since a rank's last event. */
#pragma once

#include "trace/format/opclass.h"
#include <stddef.h>
#include <stdint.h>

struct ana_job;
struct trc_sig;

/* The open call of a thread. */
struct ana_open_call {
    const struct trc_sig *sig; /* NULL: none */
    uint32_t call;             /* job-wide number */
    enum trc_opclass opclass;  /* TRC_OP_OTHER without a call */
    int64_t begin_ns;          /* job time; without a call the rank's end */
};

/* Returns the call that a thread (its number in the file) of a rank is inside, by the last refresh. */
struct ana_open_call ana_open_call_of(const struct ana_job *job, size_t index, size_t thread);
/* Adds the time of each rank since its last event to its account, once no more events come. */
void ana_close_accounts(struct ana_job *job);
