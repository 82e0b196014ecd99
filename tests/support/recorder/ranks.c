#include "tests/support/recorder/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void *ranks_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

int ranks_run(int n, int (*rank_main)(int rank))
{
    int failed = 0;
    fflush(stdout);
    for (int rank = 0; rank < n; rank++) {
        pid_t child = fork();
        if (child == 0)
            exit(rank_main(rank));
        failed += child < 0;
    }
    for (int status; wait(&status) > 0;)
        failed += status != 0;
    return failed;
}
