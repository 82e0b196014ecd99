/* Shared parts of the fake MPI. */
#ifndef TESTS_FAKE_INSIDE_H
#define TESTS_FAKE_INSIDE_H

#include "interpose/mpi/abi.h"
#include "tests/support/recorder/fake_mpi.h"
#include <stdatomic.h>

enum { FAKE_ROWS = 4096, FAKE_PREDEFINED = 3 };

/* A row of any table. */
struct fake_object {
    atomic_bool used;
    bool predefined;
    int size, remote_size; /* size of a group, a communicator or a datatype */
    int rank;              /* rank of this process in a communicator */
    int source, tag, bytes;
    int8_t world[FAKE_RANKS], remote[FAKE_RANKS];
};

struct fake_kind {
    uintptr_t base; /* table of handles that are numbers */
    struct fake_object row[FAKE_ROWS];
};
extern struct fake_kind fake_comms, fake_groups, fake_types, fake_requests;
extern enum fake_family fake_family;

/* The row of a handle; ends the test if it is none. */
struct fake_object *fake_object(struct fake_kind *kind, uintptr_t handle);
uintptr_t fake_handle(const struct fake_kind *kind, const struct fake_object *object);
/* The lowest free row; and back. */
struct fake_object *fake_take(struct fake_kind *kind);
void fake_give(struct fake_object *object);

/* Counts a call; not 0: the error it is to give. */
int fake_enter(enum ipo_call_id id);
#define ENTER(name)                                                                                                    \
    do {                                                                                                               \
        int error_ = fake_enter(IPO_##name);                                                                           \
        if (error_)                                                                                                    \
            return error_;                                                                                             \
    } while (0)

void fake_comms_start(int rank, int size);
void fake_requests_start(void);

#endif
