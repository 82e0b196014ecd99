/* Slots of the global offset table (GOT), by which calls are reached that libtrace.so does not export. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Sets the slots of all loaded objects that name a call of a source to its wrapper (core/source.h).  Such names are not
 * exported: a program that tests for one would believe that its library has it.  Returns how many slots were changed;
 * returns at once when no object was loaded since the last time.  Takes the loader's lock (loader.h). */
size_t ipo_patch_slots(void);
/* Calls ipo_patch_slots if objects were loaded since the last time, or if `anyway`.  True: objects were loaded. */
bool ipo_patch_new(bool anyway);
