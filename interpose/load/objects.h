/* What the loader says of the objects that are loaded.  Takes its lock: never inside the program's calls of MPI. */
#ifndef IPO_OBJECTS_H
#define IPO_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

struct ipo_range {
    uintptr_t base, size;
};

/* Base address of the object that holds `address`, NULL if none; no lock is taken when nothing is loaded. */
const void *ipo_object_base(const void *address);

/* From the first to the last byte of the object that holds `address`; its page where there is none: code that was made
 * at run time. */
struct ipo_range ipo_object_range(uintptr_t address);

/* How often objects were loaded so far; 0: this libc does not say. */
unsigned long long ipo_object_loads(void);

/* File names of all loaded objects, but for the program, which has none, and for libtrace.so.  Names first, dlopen
 * afterwards: the loader's lock order forbids it inside a walk. */
#define IPO_MAX_OBJECTS 512u
struct ipo_object_names {
    unsigned n;
    char name[IPO_MAX_OBJECTS][256];
};
void ipo_objects_list(struct ipo_object_names *names);

/* A handle in whose scope a name is, of an object that was loaded with RTLD_LOCAL; NULL if there is none.  One thread
 * at a time. */
void *ipo_scope_with(const char *name);

#endif
