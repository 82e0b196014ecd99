/* Sets a small RLIMIT_FSIZE before MPI_Init, or (argument "after") behind it, and then makes more records than fit in a
 * file of that size.  Known answer: "fine", exit 5; no SIGXFSZ. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    struct rlimit small = {700000, 700000};
    int after = argc > 1 && strcmp(argv[1], "after") == 0;
    char out[8] = "", in[8];
    if (!after)
        setrlimit(RLIMIT_FSIZE, &small);
    MPI_Init(&argc, &argv);
    if (after)
        setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 50000; i++)
        MPI_Sendrecv(out, i % 8, MPI_BYTE, 0, i, in, 8, MPI_BYTE, 0, i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Finalize();
    puts("fine");
    return 5;
}
