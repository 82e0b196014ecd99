/* spawn: the job starts CHILDREN more copies of this program, which make a world of their own.
 * Truth for the parents (in the file of TRUTH) and the children alike: parent 0 sends 100 bytes to each child over the
 * intercommunicator (MPI_Send there, MPI_Recv here; no pair, since the partner is in another world), an MPI_Allreduce
 * of 8 bytes on the intercommunicator, MPI_Intercomm_merge, an MPI_Bcast of 40 bytes from parent 0 on the merged one.
 */
#include "truth.h"
#include <mpi.h>

#define CHILDREN 2

static void together(MPI_Comm inter, int parent, int me)
{
    char data[100] = {0};
    double one = 1, sum;
    MPI_Comm all;
    if (!parent)
        MPI_Recv(data, 100, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE);
    for (int i = 0; parent && me == 0 && i < CHILDREN; i++)
        MPI_Send(data, 100, MPI_CHAR, i, 1, inter);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, inter);
    MPI_Intercomm_merge(inter, !parent, &all);
    MPI_Bcast(data, 40, MPI_CHAR, 0, all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void answer(int n)
{
    truth_frame(n);
    truth_each(n, "MPI_Comm_get_parent", 1, 0, 0);
    truth_each(n, "MPI_Comm_spawn", 1, 0, 0);
    truth_each(n, "MPI_Allreduce", 1, 8, 8);
    truth_each(n, "MPI_Intercomm_merge", 1, 0, 0);
    truth_each(n, "MPI_Comm_free", 1, 0, 0);
    truth_each(n, "MPI_Comm_disconnect", 1, 0, 0);
    truth_call(0, "MPI_Send", CHILDREN, CHILDREN * 100, 0);
    for (int r = 0; r < n; r++)
        truth_call(r, "MPI_Bcast", 1, r == 0 ? 40 : 0, r == 0 ? 0 : 40);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Comm parent, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        together(parent, 0, me);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        together(inter, 1, me);
        if (me == 0) {
            answer(n);
            bad = truth_write(n);
        }
    }
    MPI_Finalize();
    return bad;
}
