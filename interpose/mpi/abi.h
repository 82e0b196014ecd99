/* Differences between the families of MPI: width of handles, constants, layout of a status.
 * Sources: mpi.h of Open MPI 3..6, of MPICH 3.3..5, and of the MPI-5 standard ABI. */
#pragma once

#include "interpose/mpi/calls.h"
#include "trace/format/format.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct ipo_abi {
    enum trc_abi id;
    unsigned handle_bytes; /* width of all handles but MPI_File, a pointer everywhere */
    unsigned status_bytes, source_at, tag_at;
    int count_at; /* place of the received bytes, two words, the lower first; -1: MPI must be asked */
    int any_source, any_tag, proc_null, root, undefined, truncate_class, lock_shared, cart, graph;
    uint32_t refused_classes; /* classes of errors in arguments, found before anything is done: a bit each, from
                                 MPI_ERR_BUFFER to MPI_ERR_ARG */
    uintptr_t in_place, status_ignore, statuses_ignore;
    /* Handles; 0 where the library has them as addresses that were not found. */
    uintptr_t comm_world, comm_self, comm_null, request_null, datatype_null, byte_type, group_empty;
    uintptr_t ops[TRC_REDUCTION_OWN]; /* predefined operations by enum trc_reduction */
    /* Handles that many finished requests share.  Open MPI: ompi_request_empty, since 6.0 ompi_request_empty_send, and
     * one more over UCX; MPICH: one for each kind of request, `shared` and the one shared_span behind it; Intel MPI:
     * two that look like others, one for sends and one for receives. */
    uintptr_t shared, shared_span, shared_too[2];
    uintptr_t types, types_span;   /* predefined datatypes: MPI can be asked about them at any time */
    uintptr_t copies, copies_span; /* variables of the program: the linker copies the datatypes that it names there */
    uintptr_t no_message;          /* MPI_MESSAGE_NO_PROC, once a probe has given it; 0 */
    bool mute_isendrecv;           /* the status of an MPI_Isendrecv with two partners is not filled */
};
extern IPO_OURS struct ipo_abi ipo_abi;

/* Finds the family and fills ipo_abi.  After ipo_resolve_all, also before MPI_Init; once. */
void ipo_abi_detect(void);

/* Starts requests that are complete at once, to learn the handles that the library shares between such requests.  Once,
 * after MPI_Init. */
void ipo_abi_find_shared(void);
/* Finds where a status has its count of bytes, by setting it and reading it back.  Once, after MPI_Init. */
void ipo_abi_learn_count(void);

/* Sets what depends on the library's version; `version` is its text for MPI_Get_library_version.  Once. */
void ipo_abi_version(const char *version);

/* Whether a datatype is predefined: in the library's segment or, with the class of all datatypes as its first word,
 * among the program's copies. */
static inline bool ipo_is_predefined(uintptr_t datatype)
{
    return datatype - ipo_abi.types < ipo_abi.types_span ||
           (datatype - ipo_abi.copies < ipo_abi.copies_span && datatype % sizeof datatype == 0 &&
            *(const uintptr_t *)datatype == *(const uintptr_t *)ipo_abi.byte_type);
}

/* Handle number `i` of the array at `address`, which must not be 0. */
static inline uintptr_t ipo_handle_at(uintptr_t address, unsigned i)
{
    if (__builtin_expect(ipo_abi.handle_bytes == 8, 1))
        return ((const uintptr_t *)address)[i];
    return ((const uint32_t *)address)[i];
}
/* Handle number `i` of the array at `address`; 0 where the program passed NULL, about which MPI will complain. */
static inline uintptr_t ipo_handle_load(uintptr_t address, unsigned i)
{
    return address ? ipo_handle_at(address, i) : 0;
}
/* Whether a request's handle is one that many finished requests share. */
static inline bool ipo_is_shared(uintptr_t request)
{
    return request - ipo_abi.shared < ipo_abi.shared_span ||
           (request && (request == ipo_abi.shared_too[0] || request == ipo_abi.shared_too[1]));
}
/* A handle that was passed by value, without the undefined upper half of a 32-bit one. */
static inline uintptr_t ipo_handle(uintptr_t word)
{
    return ipo_abi.handle_bytes == 8 ? word : (uint32_t)word;
}
/* MPI_SOURCE of a status, as MPI has it. */
static inline int ipo_status_source(const char *status)
{
    int value;
    memcpy(&value, status + ipo_abi.source_at, sizeof value);
    return value;
}
/* MPI_TAG of a status, as MPI has it. */
static inline int ipo_status_tag(const char *status)
{
    int value;
    memcpy(&value, status + ipo_abi.tag_at, sizeof value);
    return value;
}
