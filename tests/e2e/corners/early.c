/* A shared library (-DLIBRARY) whose constructor asks MPI_Initialized, and a program that uses it.  Known answer: the
 * flag was 0, exit 0. */
#include <mpi.h>
#include <stdio.h>

extern int early_flag;

#ifdef LIBRARY
int early_flag = 7;

__attribute__((constructor)) static void ask(void)
{
    MPI_Initialized(&early_flag);
}
#else
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    printf("early flag %d\n", early_flag);
    MPI_Finalize();
    return 0;
}
#endif
