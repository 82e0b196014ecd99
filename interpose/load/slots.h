/* Slots of the global offset table: how calls are reached that libtrace.so does not export. */
#ifndef IPO_SLOTS_H
#define IPO_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

/* Leads the slots of all loaded objects that name a call of a source to its wrapper (core/source.h).  Exporting the
 * name would make programs that test for it believe every library has it.  Returns how many slots were changed; cheap
 * when no object was loaded since the last time.  Takes the loader's lock (loader.h). */
size_t ipo_patch_slots(void);
/* True if objects had come; `anyway`: looks even if none have. */
bool ipo_patch_new(bool anyway);

#endif
