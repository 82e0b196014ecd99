/* Rows of a summary about files that were used by MPI-IO. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A file that ranks used by MPI-IO. */
struct ana_file_stat {
    const char *name;     /* name at opening; NULL: not known, or more files than have a row */
    size_t ranks;         /* ranks that used it */
    uint64_t opens;       /* sum over all ranks */
    int64_t time_ns;      /* time in all calls about it, sum over all ranks */
    size_t slowest_index; /* the rank that spent most, */
    int64_t slowest_ns;   /* time of that rank */
    struct ana_file_way {
        uint64_t calls, bytes;
        int64_t ns;        /* time in calls that return after the access, all ranks */
        uint64_t begun;    /* part of `calls`: nonblocking, their time is not known */
        double bandwidth;  /* bytes/s of a rank while it is in these calls; NAN unknown */
        int median_class;  /* size class that half of the accesses do not exceed; -1: none */
        uint64_t size[65]; /* calls by trc_size_class() */
    } read, write;
};
