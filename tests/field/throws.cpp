/* C++: exceptions that nobody catches, and those that somebody does. */
#include <cstdio>
#include <cstring>
#include <mpi.h>
#include <stdexcept>
#include <vector>

static int rank_of()
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void steps(int count)
{
    for (int i = 0; i < count; i++) {
        double mine = i, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    std::vector<double> cells(10);
    steps(100);
    if (argc > 1 && !std::strcmp(argv[1], "uncaught")) {
        if (rank_of() == 2)
            cells.at(10) = 1;
    } else {
        /* Caught, said, and left out of the next collective: the others wait for this rank in MPI_Finalize's company. */
        try {
            if (rank_of() == 2)
                cells.at(10) = 1;
            MPI_Barrier(MPI_COMM_WORLD);
            steps(100);
        } catch (const std::exception &e) {
            std::fprintf(stderr, "rank %d: %s\n", rank_of(), e.what());
        }
        MPI_Finalize();
        return 0;
    }
    steps(10000000);
    MPI_Finalize();
}
