/* When stacks are due: nothing has moved for a while, a call takes far longer than ever, or somebody asks for them. */
#ifndef IPO_TRIGGERS_H
#define IPO_TRIGGERS_H

/* Before the first Init, in the program's thread: what can only be found out there. */
void ipo_triggers_start(void);
/* Our own thread, each round: takes stacks if they are due. */
void ipo_triggers_round(void);

#endif
