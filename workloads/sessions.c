/* sessions: MPI without MPI_Init: a session, its world group, a communicator from it, one MPI_Allreduce of 8 bytes.
 * Truth per rank: MPI_Session_init, MPI_Group_from_session_pset, MPI_Comm_create_from_group, MPI_Group_free,
 * MPI_Comm_rank, MPI_Comm_size, MPI_Allreduce (8 both ways), MPI_Comm_free, MPI_Session_finalize: once each.
 * Exits with 77 if the MPI is older than 4.0. */
#include "truth.h"
#include <mpi.h>

int main(void)
{
#if MPI_VERSION < 4 && !(defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5) /* defined by this MPI all the same */
    return 77;
#else
    static const char *const once[] = {"MPI_Session_init",
                                       "MPI_Group_from_session_pset",
                                       "MPI_Comm_create_from_group",
                                       "MPI_Group_free",
                                       "MPI_Comm_rank",
                                       "MPI_Comm_size",
                                       "MPI_Comm_free",
                                       "MPI_Session_finalize"};
    int me, n, bad = 0;
    double one = 1, sum;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "workload.sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    if (me == 0) {
        for (size_t i = 0; i < sizeof once / sizeof once[0]; i++)
            truth_each(n, once[i], 1, 0, 0);
        truth_each(n, "MPI_Allreduce", 1, 8, 8);
        bad = truth_write(n);
    }
    MPI_Session_finalize(&session);
    return bad;
#endif
}
