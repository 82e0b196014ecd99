/* Shared parts of the recorder of simulated programs. */
#ifndef YARDSTICK_RECORD_H
#define YARDSTICK_RECORD_H

#include "tests/yardstick/program.h"

/* The signature of an operation, as it is when the call begins. */
struct trc_sig sig_of(const struct program *program, int rank, const struct op *op, const struct done *done);

/* Puts the received message into the signature of a call that has ended. */
void sig_received(struct trc_sig *sig, const struct op *op, const struct done *done);

/* The communicator's number in a file. */
uint32_t comm_id(int comm);

/* The calls that a thread counts as vain: between two polls. */
bool is_poll(const struct op *op);

#endif
