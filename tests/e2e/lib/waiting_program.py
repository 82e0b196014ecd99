"""The source of a program without MPI that stands in a function named MPI_Barrier."""
WAITS = r"""
#include <unistd.h>
__attribute__((noinline)) int MPI_Barrier(int comm)
{
    for (;;)
        pause();
    return comm;
}
int main(void)
{
    return MPI_Barrier(0);
}
"""
