/* Names for the letters of nccl_calls.def, which writes one letter for each argument of a call. */
#pragma once

enum ipo_nccl_role {
    NCCL_ROLE_COMM = 'c',
    NCCL_ROLE_COMM_OUT = 'C',  /* address of a new communicator */
    NCCL_ROLE_COMMS_OUT = 'A', /* array of new communicators */
    NCCL_ROLE_UNIQUE_ID = 'i', /* address of the 128 bytes */
    NCCL_ROLE_SIZE = 'N',      /* number of ranks */
    NCCL_ROLE_RANK = 'R',      /* rank of the caller in the new communicator */
    NCCL_ROLE_COLOR = 'k',     /* color of a split */
    NCCL_ROLE_KEY = 'y',       /* key of a split */
    NCCL_ROLE_CONFIG = 'f',    /* address of an ncclConfig_t, may be NULL */
    NCCL_ROLE_SEND_BUFFER = 'b',
    NCCL_ROLE_RECEIVE_BUFFER = 'B',
    NCCL_ROLE_COUNT = 'n', /* of elements */
    NCCL_ROLE_TYPE = 'd',  /* ncclDataType_t */
    NCCL_ROLE_OPERATION = 'o',
    NCCL_ROLE_ROOT = 'r',
    NCCL_ROLE_DESTINATION = 'p',
    NCCL_ROLE_SOURCE = 's',
    NCCL_ROLE_STREAM = 't',
    NCCL_ROLE_OTHER = '.', /* any other word */
};
