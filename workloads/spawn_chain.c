/* spawn_chain row|nest|stuck WORLDS CHILDREN: worlds one after another, that all live until the last was spawned.
 *   row    the first world spawns all worlds
 *   nest   each world spawns the next
 *   stuck  as row; then child 0 of world 1 (counted from 0) never comes to MPI_Barrier with its parents: it sleeps
 * Of world k child i gets 100 * (k + 1) + i bytes from rank 0 of its parents, and sends it i + 1 bytes. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 16

static char data[1 << 12];
static int children;

/* Spawns world k. */
static MPI_Comm spawn(char **argv, int k, int me)
{
    MPI_Comm inter;
    MPI_Comm_spawn(argv[0], &argv[1], children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    MPI_Bcast(&k, 1, MPI_INT, me == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    for (int i = 0; me == 0 && i < children; i++) {
        MPI_Send(data, 100 * (k + 1) + i, MPI_CHAR, i, 1, inter);
        MPI_Recv(data, sizeof data, MPI_CHAR, i, 2, inter, MPI_STATUS_IGNORE);
    }
    return inter;
}

/* Number of this world. */
static int spawned(MPI_Comm up, int me)
{
    int k;
    MPI_Bcast(&k, 1, MPI_INT, 0, up);
    MPI_Recv(data, sizeof data, MPI_CHAR, 0, 1, up, MPI_STATUS_IGNORE);
    MPI_Send(data, me + 1, MPI_CHAR, 0, 2, up);
    return k;
}

static void leave(MPI_Comm *inter)
{
    MPI_Barrier(*inter);
    MPI_Comm_disconnect(inter);
}

int main(int argc, char **argv)
{
    int me, k = -1;
    MPI_Comm up, inter[MOST];
    alarm(180);
    MPI_Init(&argc, &argv);
    if (argc < 4 || atoi(argv[2]) > MOST)
        MPI_Abort(MPI_COMM_WORLD, 64);
    int worlds = atoi(argv[2]), nest = strcmp(argv[1], "nest") == 0, stuck = strcmp(argv[1], "stuck") == 0;
    children = atoi(argv[3]);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_get_parent(&up);
    if (up != MPI_COMM_NULL)
        k = spawned(up, me);
    int mine = nest ? k + 1 < worlds : up == MPI_COMM_NULL ? worlds : 0;
    for (int i = 0; i < mine; i++)
        inter[i] = spawn(argv, k + 1 + i, me);
    while (stuck && k == 1 && me == 0)
        pause();
    for (int i = 0; i < mine; i++)
        leave(&inter[i]);
    if (up != MPI_COMM_NULL)
        leave(&up);
    MPI_Finalize();
    return 0;
}
