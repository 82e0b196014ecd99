/* Loaded objects with their unwinding tables, for a glibc older than 2.35, which has no _dl_find_object. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads the loader's list of objects anew.  Takes its lock: during start-up, or in
 * the thread of ours that may ask the loader; one thread at a time. */
void ipo_frames_read(void);
/* A loaded object. */
struct ipo_library {
    uint64_t begin, end; /* first to last byte */
    uint64_t header;     /* address of its .eh_frame_hdr; 0: none */
    const char *name;    /* the loader's: its path, "" for the program */
};
/* Finds the object that holds `address`, if it has a table.  The list may be older than the object: read what `out`
 * points to by reads that may fail, and check it.  No lock, no system call.  Any thread. */
bool ipo_frames_find(uint64_t address, struct ipo_library *out);
