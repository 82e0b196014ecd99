/* What the shadows of the run are without (replay.h): what costs most so far, and what that would be if mended. */
#ifndef ANA_SHADOW_H
#define ANA_SHADOW_H

#include "trace/why/replay.h"

/* Chooses anew, unless few steps were made since it was done last and it need not be `now`.  Each stretch that costs most: of its ranks those that
 * cost about as much as the worst, which then take as long as the others' median; else as what others do after the same
 * call, else as their own.  And the places whose calls have most of the path. */
void ana_shadows_choose(struct ana_why *why, bool now);

#endif
