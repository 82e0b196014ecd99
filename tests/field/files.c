/* MPI-IO, and output by hand. */
#include "field.h"
#include <fcntl.h>

#define COUNT 100000

static double data[COUNT];

static MPI_File file(MPI_Comm c, const char *name)
{
    MPI_File f = MPI_FILE_NULL;
    MPI_File_open(c, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    return f;
}

/* One rank has nothing to write and stays away from a collective write. */
static void write_all(void)
{
    warm(10);
    MPI_File f = file(WORLD, "out");
    for (int step = 0; step < 10; step++) {
        if (rank == 2 && step == 6)
            break;
        MPI_File_write_at_all(f, (MPI_Offset)(step * size + rank) * (MPI_Offset)sizeof data, data, COUNT, MPI_DOUBLE,
                              NO_STATUS);
    }
    MPI_Barrier(WORLD);
    MPI_File_close(&f);
}

/* One rank opens its own file where the others open one together. */
static void open_self(void)
{
    warm(10);
    MPI_File f = file(rank == 1 ? MPI_COMM_SELF : WORLD, "out");
    MPI_Barrier(WORLD);
    MPI_File_close(&f);
}

static void close_missing(void)
{
    warm(10);
    MPI_File f = file(WORLD, "out");
    MPI_File_write_at(f, rank * 8, data, 1, MPI_DOUBLE, NO_STATUS);
    if (rank == 3)
        nap(1000);
    MPI_File_close(&f);
}

/* Every rank writes 60 MB to disk, slowly. */
static void disk_ok(void)
{
    char name[32];
    snprintf(name, sizeof name, "out.%d", rank);
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    for (int step = 0; step < 75; step++) {
        if (write(fd, data, sizeof data) < 0 || fdatasync(fd))
            break;
        nap(0.05);
    }
    close(fd);
    MPI_Barrier(WORLD);
}

static void together_ok(void)
{
    MPI_File f = file(WORLD, "out");
    for (int step = 0; step < 40; step++) {
        work(0.1);
        MPI_File_write_at_all(f, (MPI_Offset)(step * size + rank) * 8000, data, 1000, MPI_DOUBLE, NO_STATUS);
        MPI_File_sync(f);
    }
    MPI_File_close(&f);
}

/* Rank 0 gathers and writes for all, each step 0.1 s. */
static void aggregator(void)
{
    static double all[8000];
    for (int step = 0; step < 120; step++) {
        work(0.01);
        MPI_Gather(data, 1000, MPI_DOUBLE, all, 1000, MPI_DOUBLE, 0, WORLD);
        if (rank == 0) {
            FILE *f = fopen("out", "a");
            if (f && fwrite(all, sizeof *all, 1000, f))
                fclose(f);
            nap(0.1);
        }
        MPI_Barrier(WORLD);
    }
}

FIELD_PROGRAMS({"write_all", write_all, 0}, {"open_self", open_self, 0}, {"close_missing", close_missing, 0},
               {"disk_ok", disk_ok, 0}, {"together_ok", together_ok, 0}, {"aggregator", aggregator, 0})
