/* Moments at which stacks are taken: nothing has moved for a while, a call takes far longer than ever, or a user
 * requests them. */
#ifndef IPO_TRIGGERS_H
#define IPO_TRIGGERS_H

/* Notes the folder of requests, before the program can change its directory.  Once, before the first Init, in the
 * program's thread. */
void ipo_triggers_start(void);
/* Takes stacks if they are due.  Our own thread, each round. */
void ipo_triggers_round(void);

#endif
