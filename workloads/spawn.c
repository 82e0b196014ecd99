/* spawn: the job starts CHILDREN more copies of this program, which make a world of their own.
 * spawn accept FILE, spawn connect FILE: two jobs meet by MPI_Comm_accept and MPI_Comm_connect.
 * spawn join FILE, spawn joined FILE: two jobs of one rank each meet by MPI_Comm_join.
 * The parents spawn, accept or join; the others are the children, here as many as there are.
 * Truth for the parents (in the file of TRUTH) and the children alike: parent 0 sends 100 bytes to each child over the
 * intercommunicator, and child i 60 + i bytes to it (MPI_Send there, MPI_Recv here), an MPI_Allreduce of 8 bytes on the
 * intercommunicator, MPI_Intercomm_merge, an MPI_Bcast of 40 bytes from parent 0 on the merged one, and on it 24 bytes
 * from the last child to the last parent.  The pairs between the worlds are not in the truth file, since it names ranks
 * of one world only. */
#include "meet.h"
#include "truth.h"
#include <string.h>

#define CHILDREN 2

static void together(MPI_Comm inter, int parent, int me, int n)
{
    char data[100] = {0};
    double one = 1, sum;
    MPI_Comm all;
    int others;
    MPI_Comm_remote_size(inter, &others);
    if (!parent) {
        MPI_Recv(data, 100, MPI_CHAR, 0, 1, inter, MPI_STATUS_IGNORE);
        MPI_Send(data, 60 + me, MPI_CHAR, 0, 2, inter);
    }
    for (int i = 0; parent && me == 0 && i < others; i++)
        MPI_Send(data, 100, MPI_CHAR, i, 1, inter);
    for (int i = 0; parent && me == 0 && i < others; i++)
        MPI_Recv(data, 100, MPI_CHAR, i, 2, inter, MPI_STATUS_IGNORE);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, inter);
    MPI_Intercomm_merge(inter, !parent, &all);
    MPI_Bcast(data, 40, MPI_CHAR, 0, all);
    if (!parent && me == n - 1) { /* the parents are the first ranks of the merged one */
        MPI_Send(data, 24, MPI_CHAR, others - 1, 3, all);
    }
    if (parent && me == n - 1)
        MPI_Recv(data, 24, MPI_CHAR, n + others - 1, 3, all, MPI_STATUS_IGNORE);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void answer(int n)
{
    truth_frame(n);
    truth_each(n, "MPI_Comm_get_parent", 1, 0, 0);
    truth_each(n, "MPI_Comm_spawn", 1, 0, 0);
    truth_each(n, "MPI_Comm_remote_size", 1, 0, 0);
    truth_each(n, "MPI_Allreduce", 1, 8, 8);
    truth_each(n, "MPI_Intercomm_merge", 1, 0, 0);
    truth_each(n, "MPI_Comm_free", 1, 0, 0);
    truth_each(n, "MPI_Comm_disconnect", 1, 0, 0);
    truth_call(0, "MPI_Send", CHILDREN, CHILDREN * 100, 0);
    truth_call(0, "MPI_Recv", CHILDREN, 0, 60 * CHILDREN + CHILDREN * (CHILDREN - 1) / 2);
    truth_call(n - 1, "MPI_Recv", 1, 0, 24);
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
        together(parent, 0, me, n);
    } else if (argc > 2) {
        bool first = strcmp(argv[1], "accept") == 0 || strcmp(argv[1], "join") == 0;
        bool by_socket = strncmp(argv[1], "join", 4) == 0;
        together((by_socket ? meet_by_socket : meet_by_port)(first, argv[2]), first, me, n);
    } else {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        together(inter, 1, me, n);
        if (me == 0) {
            answer(n);
            bad = truth_write(n);
        }
    }
    MPI_Finalize();
    return bad;
}
