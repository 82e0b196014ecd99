/* What a summary says of files that were used by MPI-IO. */
#ifndef ANA_FILES_H
#define ANA_FILES_H

#include <stddef.h>
#include <stdint.h>

/* A file that ranks used by MPI-IO. */
struct ana_file_stat {
    const char *name;     /* as it was opened; NULL: not known, or more files than have a row */
    size_t ranks;         /* that used it */
    uint64_t opens;       /* of all ranks */
    int64_t time_ns;      /* in all calls about it, of all ranks */
    size_t slowest_index; /* the rank that spent most, */
    int64_t slowest_ns;   /* and how much */
    struct ana_file_way {
        uint64_t calls, bytes;
        int64_t ns;        /* in calls that return when it is done, all ranks */
        uint64_t begun;    /* of the calls: nonblocking, whose time is not known */
        double bandwidth;  /* bytes/s of a rank while it is in these calls; NAN unknown */
        int median_class;  /* size class that half of the accesses do not exceed; -1: none */
        uint64_t size[65]; /* calls by trc_size_class() */
    } read, write;
};

#endif
