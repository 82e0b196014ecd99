/* Declarations shared by the OTF2 export: the library, which is looked for at run time, and numbered objects in its
 * definitions.  The functions and numbers of the library belong to its version 3. */
#pragma once

#include "trace/export/export_impl.h"
#include <stdarg.h>

#define OTF2_NONE   UINT32_MAX
#define OTF2_NOBODY UINT64_MAX

enum { OTF2_WRITE = 0, OTF2_POSIX = 1, OTF2_UNCOMPRESSED = 1, OTF2_FLUSH = 1, OTF2_UINT64 = 4, OTF2_STRING = 11 };
enum { OTF2_EVENTS = 1 << 18, OTF2_DEFINITIONS = 1 << 20 }; /* sizes of pieces; events use the least */
enum { OTF2_FILE_EVENTS = 3 };
enum otf2_role {
    OTF2_ROLE_FUNCTION = 1,
    OTF2_ROLE_CODE = 4,
    OTF2_ROLE_BARRIER = 15,
    OTF2_ROLE_ONE_TO_ALL = 23,
    OTF2_ROLE_ALL_TO_ONE = 24,
    OTF2_ROLE_ALL_TO_ALL = 25,
    OTF2_ROLE_OTHER_COLLECTIVE = 26,
    OTF2_ROLE_FILE = 27,
    OTF2_ROLE_MESSAGE = 28,
    OTF2_ROLE_RMA = 29,
    OTF2_ROLE_TRANSFER = 30
};
enum otf2_paradigm { OTF2_PARADIGM_USER = 1, OTF2_PARADIGM_MPI = 4, OTF2_PARADIGM_CUDA = 5 };
enum { OTF2_PROCESS = 1, OTF2_ACCELERATOR = 2, OTF2_THREAD = 1, OTF2_STREAM = 2 };
enum { OTF2_GROUP_LOCATIONS = 4, OTF2_GROUP_COMM = 5 };
enum { OTF2_ATTRIBUTE_CALLS, OTF2_ATTRIBUTE_SENT, OTF2_ATTRIBUTE_RECEIVED, OTF2_ATTRIBUTE_PATH, OTF2_ATTRIBUTES };
#define OTF2_PATHS 0x1000000u /* texts of call paths: by the number of their site, from here on */

struct otf2_flush {
    uint8_t (*before)(void *user, uint8_t file, uint64_t location, void *caller, bool final);
    uint64_t (*after)(void *user, uint8_t file, uint64_t location);
};

struct otf2_memory {
    void *(*take)(void *user, uint8_t file, uint64_t location, void **kept, uint64_t size);
    void (*give)(void *user, uint8_t file, uint64_t location, void **kept, bool final);
};

/* Error callback of the library in place of printing; returns the code. */
typedef int otf2_error(void *user, const char *file, uint64_t line, const char *function, int code, const char *format,
                       va_list arguments);

struct otf2_library {
    void *handle;
#define OTF2(result, name, arguments) result(*name) arguments;
#include "trace/export/otf2_library.def"
};

/* A name that events refer to by number. */
struct otf2_region {
    uint32_t number;
    const char *name; /* lives as long as the job */
    enum otf2_role role;
    enum otf2_paradigm paradigm;
};

/* Members of a communicator, as rank indices; SIZE_MAX has no file.  With a remote group, both groups, in order. */
struct otf2_comm {
    size_t *member;
    size_t members;
    char name[ANA_EXPORT_NAME];
};

/* Data kept of a thread: its call is left when nothing more of it can come. */
struct otf2_lane {
    void *writer;
    uint64_t at;      /* time of the last record */
    uint32_t leaving; /* region that is left at `leave_at`; OTF2_NONE: none */
    uint64_t leave_at;
};

struct otf2 {
    struct otf2_library lib;
    void *archive, *attributes;
    struct otf2_lane *lane; /* one entry a thread */
    struct ana_map regions; /* struct otf2_region by hash of the name, paradigm */
    struct ana_map comms;   /* struct otf2_comm by its number */
    int64_t shift_ns;       /* times there are not negative */
    uint64_t last;          /* time of the last record of all */
};

/* otf2_library.c: finds the library.  False, with x->error: it is not there, or not of version 3. */
bool ana_otf2_load(struct ana_exporting *x, struct otf2_library *lib);
/* otf2_definitions.c: writes all definitions, when the events are written. */
void ana_otf2_definitions(struct ana_exporting *x);
/* otf2_definitions.c: the number of an event's name; OTF2_NONE: out of memory. */
uint32_t ana_otf2_region(struct ana_exporting *x, const struct ana_event *event);
/* otf2_definitions.c: the number of an event's communicator; OTF2_NONE: it has none. */
uint32_t ana_otf2_comm(struct ana_exporting *x, const struct ana_event *event);
/* otf2_definitions.c: the place of a rank index in a communicator; OTF2_NONE: it is not in it. */
uint32_t ana_otf2_member(struct ana_exporting *x, uint32_t comm, size_t index);
