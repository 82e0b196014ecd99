#include "tui/workers/workers.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TAG        77
#define PATIENT_NS 1000000 /* between two looks, at most */

/* Handles are pointers, or ints that are handed over in the same registers. */
typedef int init_call(int *, char ***);
typedef int ask_call(uintptr_t, int *);
typedef int move_call(void *, int, uintptr_t, int, int, uintptr_t, void *);
typedef int test_call(void *, int *, void *);
typedef int last_call(void);
typedef int version_call(int *, int *);

struct tui_mpi {
    uintptr_t world, byte;
    move_call *send, *receive;
    test_call *test;
    last_call *finalize;
    int rank, size;
};

/* ---- the launcher ------------------------------------------------------------------------------------------------ */

/* Variables that tell a process its rank and how many there are, and which MPI can find the others by what else is
 * said. */
static const struct launcher {
    const char *rank, *size, *libraries;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "libmpi.so.40 libmpi_abi.so.1 libmpi.so"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "libmpi.so.40 libmpi_abi.so.1 libmpi.so.12 libmpich.so.12 libmpi.so"},
    {"PMI_RANK", "PMI_SIZE", "libmpi.so.12 libmpich.so.12 libmpi_abi.so.1"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "libmpi.so.12"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL},
};

static const struct launcher *launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (getenv(launchers[i].rank))
            return &launchers[i];
    return NULL;
}

struct tui_launch tui_launch(void)
{
    const struct launcher *by = launcher();
    const char *size = by ? getenv(by->size) : NULL;
    if (!by || (size && strcmp(size, "1") == 0))
        return (struct tui_launch){0};
    return (struct tui_launch){strtol(getenv(by->rank), NULL, 10), by->libraries};
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

/* Opens the first of the libraries, whose names have spaces between them, that there is. */
static void *open_first(const char *libraries)
{
    char names[256];
    snprintf(names, sizeof names, "%s", libraries);
    char *rest = names, *name;
    void *library = NULL;
    while (!library && (name = strsep(&rest, " ")))
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

/* Learns the kind of handles in this MPI: the standard ABI's, Open MPI's, or an MPICH family member's. */
static void learn_handles(struct tui_mpi *mpi, void *library)
{
    int major = -1, minor = -1;
    version_call *version = (version_call *)dlsym(library, "MPI_Abi_get_version");
    if (version && version(&major, &minor) == 0 && major >= 1) { /* native libraries that have it answer -1 */
        mpi->world = 0x101;
        mpi->byte = 0x247;
    } else if (dlsym(library, "ompi_mpi_comm_world")) {
        mpi->world = (uintptr_t)dlsym(library, "ompi_mpi_comm_world");
        mpi->byte = (uintptr_t)dlsym(library, "ompi_mpi_byte");
    } else {
        mpi->world = 0x44000000;
        mpi->byte = 0x4c00010d;
    }
}

struct tui_mpi *tui_mpi_join(const char *name, char *said, size_t size)
{
    static struct tui_mpi mpi;
    const struct launcher *by = launcher();
    const char *names = name ? name : by && by->libraries ? by->libraries : "";
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : open_first(names);
    if (!library) {
        snprintf(said, size, "no library of MPI is found (%s)", *names ? names : "the launcher says of none");
        return NULL;
    }
    init_call *init = (init_call *)dlsym(library, "MPI_Init");
    ask_call *ask_rank = (ask_call *)dlsym(library, "MPI_Comm_rank");
    ask_call *ask_size = (ask_call *)dlsym(library, "MPI_Comm_size");
    mpi.send = (move_call *)dlsym(library, "MPI_Isend");
    mpi.receive = (move_call *)dlsym(library, "MPI_Irecv");
    mpi.test = (test_call *)dlsym(library, "MPI_Test");
    mpi.finalize = (last_call *)dlsym(library, "MPI_Finalize");
    if (!init || !ask_rank || !ask_size || !mpi.send || !mpi.receive || !mpi.test || !mpi.finalize) {
        snprintf(said, size, "%s is no library of MPI", name ? name : "what was found");
        return NULL;
    }
    learn_handles(&mpi, library);
    if (init(NULL, NULL) || ask_rank(mpi.world, &mpi.rank) || ask_size(mpi.world, &mpi.size)) {
        snprintf(said, size, "MPI could not begin");
        return NULL;
    }
    if (mpi.size > 1)
        return &mpi;
    mpi.finalize();
    snprintf(said, size, "this MPI finds no other process: it is not that of the launcher");
    return NULL;
}

void tui_mpi_leave(struct tui_mpi *mpi)
{
    mpi->finalize();
}

int tui_mpi_rank(const struct tui_mpi *mpi)
{
    return mpi->rank;
}

int tui_mpi_size(const struct tui_mpi *mpi)
{
    return mpi->size;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void tui_mpi_send(struct tui_mpi *mpi, const void *bytes, size_t size, int to, struct tui_mpi_message *message)
{
    mpi->send((void *)(uintptr_t)bytes, (int)size, mpi->byte, to, TAG, mpi->world, message->request);
}

void tui_mpi_receive(struct tui_mpi *mpi, void *bytes, size_t size, int from, struct tui_mpi_message *message)
{
    mpi->receive(bytes, (int)size, mpi->byte, from, TAG, mpi->world, message->request);
}

void tui_mpi_finish(struct tui_mpi *mpi, struct tui_mpi_message *message)
{
    uint64_t status[8];
    struct timespec pause = {0, 10000};
    int done = 0;
    while (!mpi->test(message->request, &done, status) && !done) {
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < PATIENT_NS)
            pause.tv_nsec *= 2;
    }
}
