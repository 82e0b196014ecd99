/* spawn_many: worlds of CHILDREN processes each.  First ROW worlds one after another, spawned by all ranks; then one
 * by each rank for itself, all at one time.  They are numbered in this order: of world k child i gets 100 * (k + 1) + i
 * bytes from the rank that spawned (rank 0 for the first ROW), and sends it i + 1 bytes; inside world k the last child
 * gets 1000 * (k + 1) bytes from the first.  All worlds live until all have been spawned.
 * spawn_many row: only the first ROW. */
#include <mpi.h>
#include <stdlib.h>

#define CHILDREN 2
#define ROW      3

static char data[1 << 16];

static void child(MPI_Comm parent, int me)
{
    int k;
    MPI_Bcast(&k, 1, MPI_INT, 0, parent);
    MPI_Recv(data, sizeof data, MPI_CHAR, 0, 1, parent, MPI_STATUS_IGNORE);
    MPI_Send(data, me + 1, MPI_CHAR, 0, 2, parent);
    if (me == 0)
        MPI_Send(data, 1000 * (k + 1), MPI_CHAR, CHILDREN - 1, 3, MPI_COMM_WORLD);
    else if (me == CHILDREN - 1)
        MPI_Recv(data, sizeof data, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
}

static void tell(MPI_Comm inter, int k, int root)
{
    MPI_Bcast(&k, 1, MPI_INT, root ? MPI_ROOT : MPI_PROC_NULL, inter);
    for (int i = 0; root && i < CHILDREN; i++) {
        MPI_Send(data, 100 * (k + 1) + i, MPI_CHAR, i, 1, inter);
        MPI_Recv(data, sizeof data, MPI_CHAR, i, 2, inter, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int me;
    MPI_Comm parent, inter[ROW + 1];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent, me);
    } else {
        int spawns = argc > 1 ? ROW : ROW + 1;
        for (int k = 0; k < spawns; k++) {
            MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, k < ROW ? MPI_COMM_WORLD : MPI_COMM_SELF,
                           &inter[k], MPI_ERRCODES_IGNORE);
            tell(inter[k], k < ROW ? k : ROW + me, k < ROW ? me == 0 : 1);
        }
        for (int k = 0; k < spawns; k++) {
            MPI_Barrier(inter[k]);
            MPI_Comm_disconnect(&inter[k]);
        }
    }
    MPI_Finalize();
    return 0;
}
