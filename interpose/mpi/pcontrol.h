/* MPI_Pcontrol as a switch of the recording, for programs that run with HPCTOP_PCONTROL. */
#pragma once

#include <stdbool.h>

/* Switches recording off (level 0) or on (1 and more).  Does nothing for other levels, without HPCTOP_PCONTROL, and
 * where it is so already.  Any thread. */
void ipo_pcontrol(int level);
/* Switches recording off if it is to begin so.  At the end of MPI_Init. */
void ipo_pcontrol_start(void);

/* Switches the thread's stream off, at the begin of a call while recording is off.  False: the thread has none. */
bool ipo_pcontrol_follow(void);
