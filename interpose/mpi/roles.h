/* Names for the letters of mpi_calls.def, which writes one letter for each argument of a call.  Where a small and a
 * capital letter belong together, they are the two directions of one thing. */
#pragma once

enum ipo_role {
    /* The data.  Only calls that move data have these; they mean this process's side, not the partner's. */
    ROLE_SEND_BUFFER = 'b',
    ROLE_RECEIVE_BUFFER = 'B', /* also the one buffer of Bcast */
    ROLE_SEND_COUNT = 'n',     /* also the one count of a call that has only one */
    ROLE_RECEIVE_COUNT = 'N',
    ROLE_SEND_COUNTS = 'm',           /* array */
    ROLE_RECEIVE_COUNTS = 'M',        /* array */
    ROLE_SEND_TYPE = 'd',             /* datatype; and the one datatype of a call that has only one */
    ROLE_RECEIVE_TYPE = 'D',          /* datatype */
    ROLE_SEND_TYPES = 'e',            /* array of datatypes */
    ROLE_RECEIVE_TYPES = 'E',         /* array of datatypes */
    ROLE_SEND_DISPLACEMENTS = 'x',    /* array */
    ROLE_RECEIVE_DISPLACEMENTS = 'X', /* array */
    ROLE_TARGET_COUNT = 'z',          /* one-sided: the target's side */
    ROLE_TARGET_TYPE = 'Y',           /* one-sided: the target's side */
    ROLE_PARTITIONS = 'K',            /* number of partitions, each of `count` elements */
    ROLE_OPERATION = 'O',             /* reduction operation */

    /* The partner. */
    ROLE_DESTINATION = 'p', /* rank in the communicator */
    ROLE_SOURCE = 's',      /* rank in the communicator, or MPI_ANY_SOURCE */
    ROLE_SEND_TAG = 't',
    ROLE_RECEIVE_TAG = 'T', /* may be MPI_ANY_TAG */
    ROLE_ROOT = 'r',        /* rank in the communicator */
    ROLE_TARGET = 'R',      /* one-sided: rank in the window */
    ROLE_LOCK_KIND = 'f',   /* one-sided: shared or exclusive */

    /* Objects.  _OUT: address of a new handle.  _INOUT: address of a handle that the call replaces or frees. */
    ROLE_COMM = 'c',
    ROLE_COMM_OUT = 'C',
    ROLE_COMM_INOUT = 'k',
    ROLE_WINDOW = 'v',
    ROLE_WINDOW_OUT = 'V',
    ROLE_WINDOW_INOUT = 'W',
    ROLE_FILE = 'a',
    ROLE_FILE_OUT = 'A',
    ROLE_FILE_INOUT = 'j',
    ROLE_GROUP = '_',  /* group of an epoch */
    ROLE_HANDLE = 'h', /* handle of any other kind; the second communicator of a call that has two */
    ROLE_HANDLE_OUT = 'H',
    ROLE_HANDLE_INOUT = '^', /* group or operation */
    ROLE_TYPE_INOUT = 'P',   /* datatype */
    ROLE_MESSAGE_OUT = 'u',
    ROLE_MESSAGE_INOUT = 'U',

    /* Requests and how they complete. */
    ROLE_REQUEST = 'w', /* by value */
    ROLE_REQUEST_OUT = 'q',
    ROLE_REQUEST_INOUT = 'Q',
    ROLE_LENGTH = 'l',         /* length of the array of requests */
    ROLE_REQUESTS_INOUT = 'y', /* array */
    ROLE_REQUESTS = 'J',       /* array that is only read */
    ROLE_STATUS_OUT = 'S',
    ROLE_STATUSES_OUT = 'Z',  /* array */
    ROLE_FLAG_OUT = 'g',      /* not 0: the operation is complete, or there is a message */
    ROLE_INDEX_OUT = 'i',     /* index of the request that completed */
    ROLE_COMPLETED_OUT = 'o', /* number of completed requests */
    ROLE_INDICES_OUT = 'I',   /* indices of completed requests: array */

    /* Text and numbers. */
    ROLE_FILE_NAME = 'F',
    ROLE_NAME = 'G',  /* given to a communicator or window */
    ROLE_LEVEL = 'L', /* level of Pcontrol, error code of Abort */
    ROLE_OTHER = '.', /* any other word: int, pointer, info, callback, MPI_Aint, MPI_Offset, MPI_Count */
};
