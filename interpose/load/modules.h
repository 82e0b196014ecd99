/* Which file is mapped where, by /proc/self/maps: dl_iterate_phdr would take the loader's lock, which a thread that
 * hangs may hold.  For our own thread; one user at a time. */
#ifndef IPO_MODULES_H
#define IPO_MODULES_H

#include <stdbool.h>
#include <stdint.h>

struct ipo_module {
    uint64_t begin, end; /* of its mappings, the first to the last */
    uint64_t code_begin, code_end;
    uint64_t bias;       /* what is added to the file's addresses; valid with `table` */
    uint64_t table;      /* address of .eh_frame_hdr's search table; 0: none */
    uint64_t table_base; /* what its entries are relative to */
    uint32_t table_count;
    bool looked; /* for the table */
    char path[240];
};

/* Reads the list anew.  `executable` modules only. */
void ipo_modules_read(void);
/* The module whose code holds `address`, its table looked up; NULL if there is none. */
struct ipo_module *ipo_module_of(uint64_t address);
/* The i-th; NULL past the last. */
const struct ipo_module *ipo_module(unsigned i);

/* The file that is mapped at an address; false: none.  Any thread, any number of them. */
struct ipo_mapped {
    uint64_t base, end;
    char path[1024];
};
bool ipo_mapped_at(uint64_t address, struct ipo_mapped *out);

#endif
