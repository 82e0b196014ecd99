/* A wrapper that is a method. */
#include <mpi.h>

struct Team {
    MPI_Comm comm;
    __attribute__((noinline)) int sum(int value) const;
};

int Team::sum(int value) const
{
    int all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_INT, MPI_SUM, comm);
    return all;
}

extern "C" int more(void)
{
    const Team team = {MPI_COMM_WORLD};
    int first = team.sum(1);
    return first + team.sum(first + 1);
}
