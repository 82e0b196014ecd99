/* Arguments that MPI refuses, with MPI_ERRORS_RETURN.  Known answer: the same error classes as without the recorder,
 * and the program goes on to its end (exit 0). */
#include <mpi.h>
#include <stdio.h>

static void say(const char *what, int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    printf("%s: class %d\n", what, class);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    MPI_Request none[1] = {MPI_REQUEST_NULL};
    char byte = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    say("Send of a null type", MPI_Send(&byte, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
    say("Waitany without index", MPI_Waitany(1, none, NULL, MPI_STATUS_IGNORE));
    say("Testany without index and flag", MPI_Testany(1, none, NULL, NULL, MPI_STATUS_IGNORE));
    say("Waitsome without outcount", MPI_Waitsome(1, none, NULL, NULL, MPI_STATUSES_IGNORE));
    say("Testsome without outcount", MPI_Testsome(1, none, NULL, NULL, MPI_STATUSES_IGNORE));
    say("File_close without file", MPI_File_close(NULL));
    say("Type_free without type", MPI_Type_free(NULL));
    say("Waitall of -1", MPI_Waitall(-1, none, MPI_STATUSES_IGNORE));
    say("Send to nobody", MPI_Send(&byte, 1, MPI_BYTE, 9999, 0, MPI_COMM_WORLD));
    MPI_Finalize();
    return 0;
}
