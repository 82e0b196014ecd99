/* What the shadows of the run are without (replay.h): what costs most so far, and what that would be if mended. */
#ifndef ANA_SHADOW_H
#define ANA_SHADOW_H

#include "trace/cause/replay.h"

/* The median time of a segment by its number + 1, in ns; `of`: what was given with it. */
typedef double ana_usual_time(const void *of, uint32_t segment);

/* Chooses anew.  Each stretch that costs most: of its ranks those that cost about as much as the worst, which then take
 * as long as the others' median; else as what others do after the same call, else as their own.  And the places whose
 * calls have most of the path. */
void ana_shadows_choose(struct ana_causes *causes, ana_usual_time *time, const void *of);

#endif
