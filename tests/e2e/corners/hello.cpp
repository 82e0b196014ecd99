// C++ linked by mpicxx: libmpi_cxx has a static constructor that calls MPI_Initialized before the recorder's own
// constructor ran.  Known answer: "in", "out", exit 0.
#include <mpi.h>
#include <cstdio>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    puts("in");
    MPI_Finalize();
    puts("out");
    return 0;
}
