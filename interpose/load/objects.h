/* Loaded objects, asked of the loader.  The functions take its lock, so none may be called inside the program's
 * calls of MPI.  errno is not kept. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A range of addresses. */
struct ipo_range {
    uintptr_t base, size;
};

/* Address of the first byte of the object that holds `address`; NULL: none does. */
const void *ipo_object_base(const void *address);

/* The object that holds `address`, first to last byte; the address's page where no object does, as for code that was
 * generated at run time. */
struct ipo_range ipo_object_range(uintptr_t address);

/* Returns the number of objects loaded so far, unloaded ones included; 0: not known from this libc.  `unloads`, if not
 * NULL, receives the number of unloaded ones. */
unsigned long long ipo_object_loads(unsigned long long *unloads);

/* A list of file names; a longer one is cut. */
#define IPO_MAX_OBJECTS 512u
struct ipo_object_names {
    unsigned n;
    char name[IPO_MAX_OBJECTS][256];
};
/* Fills the list with the loaded objects from number `first` of the loader's list on, but for libtrace.so and the
 * program, which has no name.  A caller may then dlopen
 * them, which the loader's lock order forbids inside a walk. */
void ipo_objects_list(struct ipo_object_names *names, unsigned first);

/* A handle of the loaded object at an address, for symbols in its scope; keeps the object loaded.  NULL for ours. */
void *ipo_object_open(const void *address);
/* The symbol in a handle's scope; NULL: none, or it is ours, or the handle is NULL. */
void *ipo_symbol_in(void *handle, const char *name);

/* A handle of a loaded object in whose scope the name `name` is found; NULL if there is none.  The caller closes it or
 * keeps the object loaded.  One thread at a time. */
void *ipo_scope_with(const char *name);
