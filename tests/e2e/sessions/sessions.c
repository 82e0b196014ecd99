/* Actions of a process around sessions of MPI, by its arguments, in their order: "session" begins one, reduces 8 bytes
 * over all processes and ends it; the others end the process. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void reduce_in_session(void)
{
    double one = 1, sum;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session))
        exit(78); /* exit code: this MPI has no second session */
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "tests.sessions", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "session") == 0)
            reduce_in_session();
        else if (strcmp(argv[i], "crash") == 0)
            raise(SIGSEGV);
        else if (strcmp(argv[i], "_exit") == 0)
            _exit(0);
    }
    return 0;
}
