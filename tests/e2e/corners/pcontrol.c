/* MPI_Pcontrol with further arguments, and (-DTOOL) a second tool that reads them.  Known answer: the tool says
 * "level 1, text, 42" and "level -1, other, 43". */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#ifdef TOOL
int MPI_Pcontrol(const int level, ...)
{
    va_list more;
    va_start(more, level);
    const char *text = va_arg(more, const char *);
    int number = va_arg(more, int);
    va_end(more);
    fprintf(stderr, "level %d, %s, %d\n", level, text, number);
    return MPI_SUCCESS;
}
#else
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(1, "text", 42);
    MPI_Pcontrol(-1, "other", 43);
    MPI_Finalize();
    return 0;
}
#endif
