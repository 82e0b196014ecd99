/* Libraries that are unloaded: data stored by their addresses may be wrong for the next library there. */
#pragma once

/* Calls `unloaded` of all sources where the number of unloaded objects differs from the last call's.  Any thread, not
 * inside calls of MPI; no lock is taken. */
void ipo_unloads_note(unsigned long long unloads);
