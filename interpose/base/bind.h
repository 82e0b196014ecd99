#pragma once

/* Leads libtrace.so's own calls of the loader's functions to the C library, past a function of the same name in the
 * program or in another tool: that one may call us back, or wait for a lock that its caller holds.  The first call does
 * the work, all later ones return at once.  Not on the record path. */
void ipo_bind(void);
