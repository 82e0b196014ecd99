/* sessions_init: a session first, then MPI_Init: an MPI_Allreduce of 8 bytes on a communicator of the session, then on
 * MPI_COMM_WORLD 10 messages of 40 bytes to the next rank.  Truth per rank: MPI_Allreduce once (8 both ways),
 * MPI_Sendrecv 10 times (400 both ways), and all that leads there and back once each. Exits with 77 if the MPI is older
 * than 4.0. */
#include "truth.h"
#include <mpi.h>

int main(int argc, char **argv)
{
#if MPI_VERSION < 4 && !(defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5) /* defined by this MPI all the same */
    (void)argc, (void)argv;
    return 77;
#else
    enum { MESSAGES = 10, BYTES = 40 };
    static const char *const once[] = {
        "MPI_Session_init", "MPI_Group_from_session_pset", "MPI_Comm_create_from_group", "MPI_Group_free",
        "MPI_Comm_free",    "MPI_Session_finalize"};
    char out[BYTES] = "", in[BYTES];
    int me, n, bad = 0;
    double one = 1, sum;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "workload.sessions_init", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, (me + 1) % n, i, in, BYTES, MPI_BYTE, (me + n - 1) % n, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    if (me == 0) {
        truth_frame(n);
        for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
            truth_each(n, once[i], 1, 0, 0);
        truth_each(n, "MPI_Allreduce", 1, 8, 8);
        truth_each(n, "MPI_Sendrecv", MESSAGES, MESSAGES * BYTES, MESSAGES * BYTES);
        for (int r = 0; r < n; r++)
            truth_pair(r, (r + 1) % n, MESSAGES, BYTES);
        bad = truth_write(n);
    }
    MPI_Finalize();
    MPI_Session_finalize(&session);
    return bad;
#endif
}
