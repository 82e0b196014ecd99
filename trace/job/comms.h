/* Communicators over all worlds of a job: identities, members, partners and names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_job;
struct trc_comm;

/* Number of ranks that have files, ana_job_info.ranks. */
size_t ana_job_ranks(const struct ana_job *job);
/* The rank index of a rank of a world; SIZE_MAX: it has no file. */
size_t ana_index_of_rank(const struct ana_job *job, uint32_t world, int32_t rank);
/* Writes which ranks have no trace file: "ranks 2 and 3 of 4"; "2 of 6 ranks" where there are several worlds. */
void ana_absent_words(const struct ana_job *job, char *out, size_t size);
/* Returns the number of ranks 0 .. size - 1 of a world with files.  *first is the index of the first; the others follow
 * it. */
size_t ana_ranks_below(const struct ana_job *job, uint32_t world, int32_t size, size_t *first);
/* The identity of a communicator of rank `index`, one for all worlds that share it; 0 for NULL. */
uint64_t ana_comm_identity(const struct ana_job *job, size_t index, const struct trc_comm *comm);
/* Whether there are other worlds, and the one reached by this communicator of rank `index` is not known. */
bool ana_remote_unknown(const struct ana_job *job, size_t index, const struct trc_comm *comm);
/* The rank index of a partner `peer` in a signature of rank `index`; SIZE_MAX: none, or not known. */
size_t ana_partner(const struct ana_job *job, size_t index, const struct trc_comm *comm, int32_t peer);
/* Members of a communicator, as numbers m for ana_member.  They are the list in the file or, where a whole world is in
 * it, the files that there are: its size is only a number that a file says. */
struct ana_range {
    size_t from, to;
};
/* The members of a communicator of rank `index`, or its remote group alone. */
struct ana_range ana_members(const struct ana_job *job, size_t index, const struct trc_comm *comm, bool remote);
/* The rank index of member `m`; SIZE_MAX: it has no file, or is not known. */
size_t ana_member(const struct ana_job *job, size_t index, const struct trc_comm *comm, size_t m);

/* Writes what a communicator is called in a sentence: "MPI_COMM_WORLD", its own name, or "a communicator
 * of 4 made at grid.c:20"; "a window of 4", "file out.dat". */
void ana_comm_words(const struct ana_job *job, const struct trc_comm *comm, char *out, size_t size);
/* "communicator", "window", "file"; NULL counts as a communicator. */
const char *ana_comm_kind(const struct trc_comm *comm);
/* Returns the short name of a communicator: "WORLD", "SELF", its own name, or "#n of size k".  Valid as
 * long as the job, also when the communicator gets another name. */
const char *ana_comm_name(struct ana_job *job, uint64_t identity, const struct trc_comm *comm);
