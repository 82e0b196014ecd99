/* After MPI_Finalize it closes all descriptors, as a daemon does, and lives on. */
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int me;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 10; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Finalize();
    for (int fd = 3; fd < 5000; fd++)
        close(fd);
    sleep(3); /* our thread looks at the file once a second */
    return 0;
}
