/* Files that are mapped, and where, read from /proc/self/maps.  dl_iterate_phdr would take the loader's lock, which a
 * thread that hangs may hold.  But for ipo_mapped_at: our own thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A file with executable mappings. */
struct ipo_module {
    uint64_t begin, end; /* first to last mapping */
    uint64_t code_begin, code_end;
    uint64_t bias;       /* added to the file's addresses; valid with `table` */
    uint64_t table;      /* address of .eh_frame_hdr's search table; 0: none */
    uint64_t table_base; /* entries count from here */
    uint32_t table_count;
    bool looked; /* the table was searched for */
    bool pinned; /* the module cannot be unloaded now: its memory is read directly */
    char path[240];
};

/* Reads the list of modules anew; pointers to modules of the last list become invalid. */
void ipo_modules_read(void);
/* The module whose code holds `address`, with its table filled in; NULL if there is none.  Valid until
 * ipo_modules_read. */
struct ipo_module *ipo_module_of(uint64_t address);
/* The module number `i`; NULL past the last.  Valid until ipo_modules_read. */
const struct ipo_module *ipo_module(unsigned i);

/* Fills in the table of `m` from the .eh_frame_hdr at `header`.  False: it is not as linkers write it. */
bool ipo_module_table(struct ipo_module *m, uint64_t header);

/* A file and where it is mapped, from its first mapping to its last. */
struct ipo_mapped {
    uint64_t base, end;
    char path[1024];
};
/* Fills `out` with the file that is mapped at an address.  False: none.  Any thread, off the record path. */
bool ipo_mapped_at(uint64_t address, struct ipo_mapped *out);
