/* progress FILE: for ever, MPI_Sendrecv of 8 bytes to the next rank; after each return the rank stores how many have
 * returned into its 8 bytes of FILE (rank r at 8r), which is mapped shared, so that it survives SIGKILL.
 * Truth, whenever the ranks are killed: rank r's trace holds as many MPI_Sendrecv as FILE says for it, or one more.
 * Ends by itself after 60 seconds. */
#include "truth.h"
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int me, n;
    double out = 0, in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, 4096) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    volatile uint64_t *returned = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (returned == MAP_FAILED || n > 512)
        MPI_Abort(MPI_COMM_WORLD, 1);
    alarm(60);
    for (uint64_t i = 1;; i++) {
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, (me + 1) % n, 1, &in, 1, MPI_DOUBLE, (me + n - 1) % n, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        returned[me] = i;
    }
}
