/* A plugin that uses the MPI it was built with; built once with each.  part(step) does one step of its life and prints
 * its findings.  Known answer: "work" is, on every rank, one MPI_Comm_dup and MPI_Comm_free, and on
 * the duplicate of MPI_COMM_SELF ROUNDS each of MPI_Sendrecv (8 bytes both ways), MPI_Isend and MPI_Irecv (4 bytes) and
 * MPI_Waitall, then one MPI_Allreduce of 4 bytes on MPI_COMM_WORLD. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 5

static const char *library(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    text[8] = 0; /* "Open MPI", "MPICH Ve" */
    return text;
}

static void work(void)
{
    int one = 1, size, sum = 0, wrong = 0;
    MPI_Comm own;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    for (int i = 0; i < ROUNDS; i++) {
        double out = i, in = -1;
        int small = i, back = -1;
        MPI_Request request[2];
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 1, &in, 1, MPI_DOUBLE, 0, 1, own, MPI_STATUS_IGNORE);
        MPI_Irecv(&back, 1, MPI_INT, MPI_ANY_SOURCE, 2, own, &request[0]);
        MPI_Isend(&small, 1, MPI_INT, 0, 2, own, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        wrong += in != i || back != i;
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_free(&own);
    printf("%s works: %d wrong, all ranks %s\n", library(), wrong, sum == size ? "added" : "not added");
}

void part(const char *step)
{
    int flag = -1;
    if (strcmp(step, "asks") == 0) {
        MPI_Initialized(&flag);
        printf("%s is %sinitialized\n", library(), flag ? "" : "not ");
    } else if (strcmp(step, "starts") == 0) {
        MPI_Init(NULL, NULL);
    } else if (strcmp(step, "works") == 0) {
        work();
    } else if (strcmp(step, "ends") == 0) {
        MPI_Finalize();
    }
    fflush(stdout);
}
