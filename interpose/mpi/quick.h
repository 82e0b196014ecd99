/* Facts of a row of the call table, from its letters.  The compiler evaluates these functions where their arguments are
 * constants, so a wrapper has neither a loop nor a table (wrap.c). */
#pragma once

#include "interpose/mpi/calls.h"
#include <string.h>

#define IPO_CONSTANT static inline __attribute__((always_inline))

/* The columns of a row that are numbers. */
struct ipo_row_facts {
    enum ipo_call_id id;
    enum trc_opclass opclass;
    bool collective;
    unsigned arity;
};

/* The function of leave.h that ends a cached call of a row. */
enum ipo_quick {
    IPO_QUICK_NONE,    /* none: the wrapper looks no call up */
    IPO_QUICK_EVENT,   /* an event */
    IPO_QUICK_RECV,    /* an event, if the message is as it was posted */
    IPO_QUICK_STARTED, /* an event, and a request */
    IPO_QUICK_PROBE,   /* an event, or a poll */
    IPO_QUICK_WAIT     /* an event and its completions, or a poll */
};

/* Whether an argument with this role decides the signature. */
IPO_CONSTANT bool ipo_decides(char role)
{
    switch (role) {
    case ROLE_SEND_COUNT:
    case ROLE_RECEIVE_COUNT:
    case ROLE_SEND_TYPE:
    case ROLE_RECEIVE_TYPE:
    case ROLE_OPERATION:
    case ROLE_DESTINATION:
    case ROLE_SOURCE:
    case ROLE_SEND_TAG:
    case ROLE_RECEIVE_TAG:
    case ROLE_ROOT:
    case ROLE_TARGET:
    case ROLE_COMM:
    case ROLE_WINDOW:
        return true;
    default:
        return false;
    }
}

/* Whether a deciding argument may be another number without making the call another kind of call. */
IPO_CONSTANT bool ipo_varies(char role)
{
    return role == ROLE_SEND_COUNT || role == ROLE_RECEIVE_COUNT || role == ROLE_SEND_TAG || role == ROLE_RECEIVE_TAG ||
           role == ROLE_DESTINATION || role == ROLE_SOURCE;
}

/* Whether each rank's arrays of counts are its own arguments, of the length of the communicator. */
IPO_CONSTANT bool ipo_reads_counts(enum trc_opclass opclass)
{
    return opclass == TRC_OP_ALLGATHER || opclass == TRC_OP_ALLTOALL || opclass == TRC_OP_REDUCE_SCATTER;
}

/* Whether an argument is an array of counts that decides the signature by its sum and the rank's own count. */
IPO_CONSTANT bool ipo_is_summed(enum trc_opclass opclass, char role)
{
    return ipo_reads_counts(opclass) && (role == ROLE_SEND_COUNTS || role == ROLE_RECEIVE_COUNTS);
}

/* Whether an argument keeps a call out of the cache: an array, a handle that the call changes, or a name. */
IPO_CONSTANT bool ipo_is_uncacheable(enum trc_opclass opclass, char role)
{
    switch (role) {
    case ROLE_SEND_COUNTS:
    case ROLE_RECEIVE_COUNTS:
    case ROLE_SEND_DISPLACEMENTS:
    case ROLE_RECEIVE_DISPLACEMENTS:
        return !ipo_reads_counts(opclass);
    case ROLE_SEND_TYPES:
    case ROLE_RECEIVE_TYPES:
    case ROLE_REQUESTS_INOUT:
    case ROLE_REQUEST_INOUT:
    case ROLE_REQUEST:
    case ROLE_MESSAGE_INOUT:
    case ROLE_WINDOW_INOUT:
    case ROLE_FILE_INOUT:
    case ROLE_COMM_INOUT:
    case ROLE_TYPE_INOUT:
    case ROLE_HANDLE_INOUT:
    case ROLE_PARTITIONS:
    case ROLE_COMM_OUT:
    case ROLE_WINDOW_OUT:
    case ROLE_FILE_OUT:
    case ROLE_FILE_NAME:
    case ROLE_NAME:
        return true;
    default:
        return false;
    }
}

/* Whether an argument is a buffer, and it matters for the signature if it is MPI_IN_PLACE. */
IPO_CONSTANT bool ipo_is_buffer(enum trc_opclass opclass, char role)
{
    bool matters = opclass == TRC_OP_GATHER || opclass == TRC_OP_SCATTER || opclass == TRC_OP_ALLGATHER ||
                   opclass == TRC_OP_ALLTOALL;
    return matters && (role == ROLE_SEND_BUFFER || role == ROLE_RECEIVE_BUFFER);
}

/* Position of a role among the letters of a row; IPO_ABSENT. */
IPO_CONSTANT unsigned ipo_letter_at(struct ipo_row_facts row, const char *roles, char role)
{
    unsigned at = IPO_ABSENT;
#pragma GCC unroll 16
    for (unsigned i = row.arity; i-- > 0;)
        at = roles[i] == role ? i : at;
    return at;
}

/* Position of the request, or of the array of requests, of a Wait or Test. */
IPO_CONSTANT unsigned ipo_requests_at(struct ipo_row_facts row, const char *roles)
{
    const unsigned one = ipo_letter_at(row, roles, ROLE_REQUEST_INOUT);
    return one != IPO_ABSENT ? one : ipo_letter_at(row, roles, ROLE_REQUESTS_INOUT);
}
/* Number of its requests. */
IPO_CONSTANT uint32_t ipo_count_requests(struct ipo_row_facts row, const char *roles, const uintptr_t *args)
{
    const unsigned length = ipo_letter_at(row, roles, ROLE_LENGTH);
    const int n = length == IPO_ABSENT ? 1 : (int)args[length];
    return n > 0 ? (uint32_t)n : 0;
}

/* Returns the kind of a row.  `name`: of the call; persistent calls are found by it. */
IPO_CONSTANT enum ipo_quick ipo_quick_kind(struct ipo_row_facts row, const char *roles, const char *name)
{
    bool cacheable = !strstr(name, "_init"), decided = false;
    if (row.opclass == TRC_OP_WAIT || row.opclass == TRC_OP_TEST)
        return ipo_letter_at(row, roles, ROLE_REQUEST_INOUT) != IPO_ABSENT ||
                       ipo_letter_at(row, roles, ROLE_REQUESTS_INOUT) != IPO_ABSENT
                   ? IPO_QUICK_WAIT
                   : IPO_QUICK_NONE;
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++) {
        cacheable = cacheable && !ipo_is_uncacheable(row.opclass, roles[i]);
        decided = decided || ipo_decides(roles[i]);
    }
    if (!cacheable || !decided)
        return IPO_QUICK_NONE;
    bool makes_request = ipo_letter_at(row, roles, ROLE_REQUEST_OUT) != IPO_ABSENT;
    switch (row.opclass) {
    case TRC_OP_RECV:
    case TRC_OP_SENDRECV:
        return IPO_QUICK_RECV;
    case TRC_OP_PROBE:
        return IPO_QUICK_PROBE;
    case TRC_OP_SEND:
    case TRC_OP_SSEND:
        return IPO_QUICK_EVENT;
    case TRC_OP_ISEND:
    case TRC_OP_ISSEND:
    case TRC_OP_IRECV:
        return IPO_QUICK_STARTED;
    case TRC_OP_COMM:
        return ipo_letter_at(row, roles, ROLE_HANDLE_OUT) == IPO_ABSENT ? IPO_QUICK_EVENT : IPO_QUICK_NONE;
    case TRC_OP_RMA:
        return makes_request ? IPO_QUICK_STARTED : IPO_QUICK_EVENT;
    default:
        return !row.collective ? IPO_QUICK_NONE : makes_request ? IPO_QUICK_STARTED : IPO_QUICK_EVENT;
    }
}
