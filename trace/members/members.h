/* Members of a job: its files, the processes in them and their state now, and the names that they share. */
#pragma once

#include "trace/members/bundle.h"
#include "trace/members/process.h"

struct ana_bridges;

struct ana_call_name {
    const char *name;
    enum trc_opclass opclass;
};

struct ana_members {
    struct ana_bundle bundle;
    struct ana_process *process; /* `count` processes, by world and rank */
    size_t count;
    char name[128];
    char mpi[256];
    const char **host;
    size_t hosts;
    size_t world_size;
    size_t left_out;                   /* files of an earlier run */
    size_t other_jobs;                 /* files of other jobs, in other folders than this one's */
    size_t shown_folder, other_folder; /* one of this job, one of the others: into bundle.folder */
    unsigned generation;
    enum ana_state state;
    bool hangs;         /* the last verdict is hung: comes before `state` */
    int64_t end_ns;     /* last sign of life */
    int64_t begin_ns;   /* first file made */
    int64_t horizon_ns; /* running job: all files have the events that ended before; INT64_MAX: everything */
    int64_t quiet_ns;
    uint64_t progress;
    int64_t progress_ns; /* job time when it was first seen at this value */
    int64_t read_ns;     /* CLOCK_MONOTONIC when the last refresh began to read; 0: none has */
    unsigned refreshes;  /* ana_job_refresh so far */
    unsigned revision;   /* rises whenever something changes that the verdict rests on */
    struct ana_clock *clock;
    struct ana_bridges *bridges; /* communicators between worlds; NULL: none */
    struct ana_map *unlisted; /* (identity, rank in it) -> rank index, size_t: groups that no file lists; on demand */

    struct ana_call_name *call; /* calls of all files, by job-wide number; number 0 is the unknown call */
    size_t calls;
    struct ana_map call_by_name, call_by_address;
    struct ana_map comm_names; /* communicator identity -> const char *, one of `texts` */
    struct ana_map texts;      /* hash and number -> char *; none is freed before the members */
};

/* Begins the members of a job in some folders and files, whose text is copied; zeros before.  False: out of memory. */
bool ana_members_open(struct ana_members *members, const struct ana_opener *opener, const char *const *folders,
                      size_t n);
/* Frees the members' memory; the struct is the caller's. */
void ana_members_close(struct ana_members *members);

/* Names the job after its folder. */
void ana_members_name(struct ana_members *members);
/* Lists the processes again for ana_members_set; *n: their number.  NULL: they are the same, or memory is out. */
struct ana_process *ana_members_changed(struct ana_members *members, size_t *n);
/* Replaces the processes by that list.  False: out of memory. */
bool ana_members_set(struct ana_members *members, struct ana_process *list, size_t n);
/* Frees the processes and their clock. */
void ana_members_forget(struct ana_members *members);
/* Brings all processes and the state of the whole up to date, after a refresh of the files or a new fit of the clock.
 * True if somebody may be alive, or was found to have ended: then the same files may give another verdict. */
bool ana_members_update(struct ana_members *members);
/* Whether any process may still write. */
bool ana_members_alive(const struct ana_members *members);

/* call_names.c */
/* Assigns job-wide numbers to new calls of all files. */
void ana_number_calls(struct ana_members *members);
/* The job-wide number of a call.  Never fails: number 0 is for calls that there was no memory for. */
uint32_t ana_call_number(struct ana_members *members, const struct trc_call *call);
/* The job-wide number of a call by its id in the file of rank `index`; 0: none. */
uint32_t ana_call_number_of(const struct ana_members *members, size_t index, uint32_t id);
