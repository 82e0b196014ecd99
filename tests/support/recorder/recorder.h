/* The recorder inside a test, on the fake MPI: what the first Init would have set up, without its threads. */
#ifndef TESTS_RECORDER_H
#define TESTS_RECORDER_H

#include "interpose/core/state.h"
#include "interpose/mpi/thread.h"
#include "tests/support/recorder/fake_mpi.h"
#include "trace/reader/reader.h"

struct recorder_setup {
    enum fake_family family;
    int rank, size;
    bool concurrent; /* MPI_THREAD_MULTIPLE */
};

/* Records from now on into a file of a temporary folder; once in a process. */
void recorder_start(const struct recorder_setup *setup);

/* A call of the program from `site`, as a wrapper makes it.  `args`: as many as the call has. */
int recorder_call(uint64_t site, enum ipo_call_id id, const uintptr_t *args);
#define MPI(site, name, ...) recorder_call(site, IPO_##name, (uintptr_t[]){__VA_ARGS__})

/* The file, open for reading; ends the test if it cannot be read. */
struct trc_file *recorder_read(void);
/* Removes what recorder_start has made; after the last look. */
void recorder_remove(void);

#endif
