/* Wait states of messages, for tests of trace/relations. */
#ifndef TESTS_MESSAGE_WAITS_H
#define TESTS_MESSAGE_WAITS_H

#include "trace/relations/waits.h"

/* Both wait states of a message; returns how many of out[] were filled, 0 .. 2. */
static inline size_t waits_of_message(const struct ana_message *message, struct ana_wait_span out[2])
{
    size_t n = ana_late_sender(message, &out[0]);
    return n + ana_late_receiver(message, &out[n]);
}

#endif
