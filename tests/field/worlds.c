/* Several worlds, and communicators between them: spawn, connect, disconnect. */
#include "field.h"

static char **arguments;

static MPI_Comm spawn(const char *child, int count)
{
    MPI_Comm inter;
    char *with[] = {(char *)child, NULL};
    MPI_Comm_spawn(arguments[0], with, count, MPI_INFO_NULL, 0, WORLD, &inter, MPI_ERRCODES_IGNORE);
    return inter;
}

/* The child sleeps instead of an answer; rank 0 waits for it and the others for rank 0. */
static void child_sleeps(void)
{
    int x = 0;
    warm(10);
    MPI_Comm inter = spawn("sleeping", 1);
    if (rank == 0)
        MPI_Recv(&x, 1, MPI_INT, 0, 1, inter, NO_STATUS);
    MPI_Barrier(WORLD);
}

static void sleeping(void)
{
    nap(1000);
}

/* The child waits for work, the parent for its result. */
static void child_waits(void)
{
    int x = 0;
    warm(10);
    MPI_Comm inter = spawn("waiting", 1);
    if (rank == 0)
        MPI_Recv(&x, 1, MPI_INT, 0, 1, inter, NO_STATUS);
    MPI_Barrier(WORLD);
}

static void waiting(void)
{
    MPI_Comm parent;
    int x;
    MPI_Comm_get_parent(&parent);
    MPI_Recv(&x, 1, MPI_INT, 0, 2, parent, NO_STATUS);
}

/* A child does not come to the merge of the two worlds. */
static void merge(void)
{
    MPI_Comm all;
    warm(10);
    MPI_Comm inter = spawn("sleeping", 2);
    MPI_Intercomm_merge(inter, 0, &all);
}

static void fine(void)
{
    int x = 0;
    warm(10);
    MPI_Comm inter = spawn("answers", 2);
    for (int i = 0; i < 10 && rank == 0; i++)
        MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, inter, NO_STATUS);
    MPI_Comm_disconnect(&inter);
    MPI_Barrier(WORLD);
}

static void answers(void)
{
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    for (int i = 0; i < 5; i++) {
        work(1.5);
        MPI_Send(&i, 1, MPI_INT, 0, 1, parent);
    }
    MPI_Comm_disconnect(&parent);
}

/* Waits for a partner that never connects. */
static void accept_nobody(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    warm(10);
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    }
    MPI_Barrier(WORLD);
}

int main(int argc, char **argv)
{
    arguments = argv;
    static const struct program programs[] = {{"child_sleeps", child_sleeps, 0},
                                              {"sleeping", sleeping, 0},
                                              {"child_waits", child_waits, 0},
                                              {"waiting", waiting, 0},
                                              {"merge", merge, 0},
                                              {"fine", fine, 0},
                                              {"answers", answers, 0},
                                              {"accept_nobody", accept_nobody, 0},
                                              {NULL, NULL, 0}};
    return field_main(argc, argv, programs);
}
