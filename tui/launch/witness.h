/* Notes when processes of this host ended, as seen from outside: a rank that is killed cannot note it, and a launcher
 * may end all others within milliseconds.  One thread; signals stay with the caller. */
#pragma once

struct tui_witness;

/* Watches the processes whose traces come to a folder on this host; `signals` is a descriptor of the caller.  NULL: out
 * of memory or of descriptors. */
struct tui_witness *tui_witness_new(const char *folder, int signals);
/* Waits until the descriptor can be read. */
void tui_witness_wait(struct tui_witness *witness);
/* Notes the ends that came last. */
void tui_witness_free(struct tui_witness *witness);
