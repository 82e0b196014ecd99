#ifndef IPO_BIND_H
#define IPO_BIND_H

/* Leads libtrace.so's own calls of the loader to the C library, past what the program or another tool defines by these
 * names: such a function may come back to us, or wait for a lock that its caller holds.  Once; cheap then. */
void ipo_bind(void);

#endif
