/* Jobs of four ranks that are alive and hang, each in another way: what tests of damage start from. */
#ifndef TRACE_SCENE_H
#define TRACE_SCENE_H

#include "tests/support/trace_builder.h"

enum { SCENE_RANKS = 4, SCENES = 8 };

/* The file of one rank: communicators of every kind, messages, collectives, a Horovod loop; the last rank has not come
 * to what the others wait in (of the last scene: to an operation of NCCL). */
struct tb *scene_rank(int scene, int rank);

#endif
