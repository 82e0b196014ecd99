/* The account of time: each nanosecond of a rank, from its first to its last sign of life, in exactly one account
 * (accounts.def).  A rank's accounts add up to its elapsed time; its groups (a call path each, and the time outside
 * calls) add up to the rank.
 *
 *   usage.h   processor time of a span of the clock -> outside and inside calls
 *   account.h sums of a rank's groups               -> accounts
 *
 * A rank's time is its main thread's: the thread that called MPI first.  Pure arithmetic; any thread. */
#pragma once

#include "trace/account/usage.h"
#include "trace/format/opclass.h"
#include <stddef.h>
#include <stdint.h>

enum ana_account_id {
#define ACCOUNT(id, ...) ANA_ACCOUNT_##id,
#include "trace/account/accounts.def"
#undef ACCOUNT
    ANA_ACCOUNTS
};

/* Time by account, in ns. */
struct ana_account {
    int64_t ns[ANA_ACCOUNTS];
};

/* "compute" "queued" .. */
const char *ana_account_key(enum ana_account_id id);
/* "computing", "waiting for a processor" ..: what a rank does, in a sentence. */
const char *ana_account_words(enum ana_account_id id);
/* A description of its time: "outside calls, on a processor". */
const char *ana_account_help(enum ana_account_id id);
/* The account of the time inside a call in which nobody is late. */
enum ana_account_id ana_account_of_call(enum trc_opclass opclass);

/* Whether calls of a class are MPI-IO or other calls of the library; not MPI_Init and MPI_Finalize. */
bool ana_account_is_local(enum trc_opclass opclass);

/* Adds the accounts of another group; the sums saturate. */
void ana_account_add(struct ana_account *to, const struct ana_account *more);
/* The sum over all accounts, in ns. */
int64_t ana_account_total(const struct ana_account *account);
/* Returns the share of one account in the total, 0..1; NAN: the total is 0. */
double ana_account_share(const struct ana_account *account, enum ana_account_id id);

/* Returns the part of an account between two times of the time `of` that it is shared out over: parts of successive
 * times add up to the whole; 0 <= begin_ns <= end_ns <= of. */
struct ana_account ana_account_part(const struct ana_account *whole, int64_t begin_ns, int64_t end_ns, int64_t of);

/* The completed calls of one call path of a rank. */
struct ana_account_group {
    enum ana_account_id id;     /* of ana_account_of_call */
    int64_t inside_ns, wait_ns; /* inside the calls; part of it: waiting for other ranks */
};

/* A rank apart from its calls. */
struct ana_account_rank {
    int64_t elapsed_ns;
    int64_t open_ns;    /* part of it in the call that has not ended */
    int64_t unknown_ns; /* part of it without records */
    struct ana_account_usage usage;
};

/* Cuts a rank's time: the accounts of its `n` groups into of_group[], the accounts of all time outside completed calls
 * into *outside.  Together they add up to elapsed_ns, or to the time inside calls where that is longer. */
void ana_account_cut(const struct ana_account_rank *rank, const struct ana_account_group *group, size_t n,
                     struct ana_account *of_group, struct ana_account *outside);
