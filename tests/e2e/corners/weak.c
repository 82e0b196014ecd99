/* Asks MPI whether it runs, where there is no MPI but a weak name.  Known answer: exit 0 and "flag 0", with the
 * recorder and without. */
#include <stdio.h>

extern int MPI_Initialized(int *flag) __attribute__((weak));
extern int MPI_Finalized(int *flag) __attribute__((weak));

int main(void)
{
    int begun = 0, ended = 0;
    if (MPI_Initialized) {
        begun = 77;
        if (MPI_Initialized(&begun))
            return 1;
    }
    if (MPI_Finalized) {
        ended = 77;
        if (MPI_Finalized(&ended))
            return 2;
    }
    printf("flag %d %d\n", begun, ended);
    return 0;
}
