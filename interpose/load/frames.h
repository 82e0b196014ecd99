/* Unwinding tables of loaded objects, for a glibc older than 2.35, which has no _dl_find_object. */
#ifndef IPO_FRAMES_H
#define IPO_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the loader's list of objects anew if any was loaded or unloaded since.  Takes its lock: during start-up, or in
 * the thread of ours that may ask the loader; one thread at a time. */
void ipo_frames_read(void);
/* Finds the .eh_frame_hdr of the object that holds `address`.  The list may be older than the object: read the result
 * by reads that may fail, and check it.  No lock, no system call.  Any thread. */
bool ipo_frames_find(uint64_t address, uint64_t *header);

#endif
