/* Functions between a program and MPI.  Wrappers, by their code: sum_all, swap, Team::sum (wrap.cpp) and total
 * (wrap.f90).  The others do more, or one place calls them. */
#include <mpi.h>
#include <stdio.h>

#define ALONE __attribute__((noinline, noclone))

ALONE static double sum_all(double value)
{
    double sum = 0;
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Asks for a number beside its one call. */
ALONE static int swap(double *out, double *in, int n, int tag)
{
    MPI_Status status;
    int rank, count;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(out, n, MPI_DOUBLE, rank, tag, in, n, MPI_DOUBLE, rank, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    return count;
}

/* Works in a loop. */
ALONE static double norm(const double *values, int n)
{
    double sum = 0, all = 0;
    for (int i = 0; i < n; i++)
        sum += values[i] * values[i];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Two calls: its caller's line does not say which. */
ALONE static void meet(void)
{
    int one = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* Calls something else. */
ALONE static void say(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    puts("met");
}

/* One place calls it: it is a part of the program. */
ALONE static double begin(double value)
{
    double least = 0;
    MPI_Allreduce(&value, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    return least;
}

ALONE static double step_one(double *values)
{
    double other[4];
    say();
    meet();
    int got = swap(values, other, 4, 1);
    return sum_all(1) + norm(values, 4) + got;
}

ALONE static double step_two(double *values)
{
    double other[2];
    meet();
    int got = swap(values, other, 2, 2);
    say();
    return sum_all(2) + norm(values, 2) + got;
}

int more(void);
int main(int argc, char **argv)
{
    double values[4] = {1, 2, 3, 4};
    MPI_Init(&argc, &argv);
    double all = begin(4) + step_one(values);
    all += step_two(values) + more();
    MPI_Finalize();
    return all < 0;
}
