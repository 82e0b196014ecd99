/* computes SECONDS: a rank that computes for so long between MPI_Init and MPI_Finalize, and prints which share of that
 * time the threads of a recorder took, whose names begin with hpctop: by the kernel, from a second after the begin
 * on. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the first word of a file of a thread. */
static void read_word(const char *tid, const char *name, char out[64])
{
    char path[400];
    snprintf(path, sizeof path, "/proc/self/task/%s/%s", tid, name);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%63s", out) != 1)
        out[0] = 0;
    if (file)
        fclose(file);
}

/* Seconds that threads with such names were on a processor. */
static double recorder_s(void)
{
    double sum = 0;
    char word[64];
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        read_word(task->d_name, "comm", word);
        if (strncmp(word, "hpctop", 6) != 0)
            continue;
        read_word(task->d_name, "schedstat", word);
        sum += atof(word) / 1e9;
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static void compute(double seconds)
{
    volatile double sum = 0;
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        for (int i = 0; i < 1000000; i++)
            sum += i;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0;
    MPI_Init(&argc, &argv);
    compute(seconds > 0 ? 1 : 0);
    double before = recorder_s();
    compute(seconds);
    printf("%.8f\n", seconds > 0 ? (recorder_s() - before) / seconds : 0);
    return MPI_Finalize();
}
