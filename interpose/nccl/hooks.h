/* The hooks in NCCL: the ones that see calls, and how NCCL finds the two that it calls itself.
 *
 * Environment variables name a profiler plugin and an NVTX injection.  To set them would change what the program and
 * its children see.  So the slots of getenv of all objects lead here, since any may have NVTX in it, or a hidden NCCL;
 * it answers for these two names, to NCCL and NVTX only, where the environment has no value.  A value that the user set
 * is never replaced. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A hook, a bit each. */
enum ipo_nccl_hook {
    IPO_HOOK_SYMBOLS = 1u << 0,
    IPO_HOOK_DLSYM = 1u << 1,
    IPO_HOOK_PLUGIN = 1u << 2,
    IPO_HOOK_NVTX = 1u << 3,
    IPO_HOOK_CHANNELS = 1u << 4 /* the plugin's events for parts of a kernel; costs NCCL some percent */
};

/* Whether the user allows a hook (HPCTOP_NCCL).  Any thread. */
bool ipo_nccl_hook_allowed(enum ipo_nccl_hook hook);

/* Notes that a hook has seen something of the NCCL in the object at base address `object` (NULL: not known).  The first
 * time, the fact "nccl.hooks" names it; later calls are cheap.  Any thread. */
void ipo_nccl_hook_live(enum ipo_nccl_hook hook, const void *object);
/* Whether that was noted for a hook and an object.  Any thread. */
bool ipo_nccl_hook_is_live(enum ipo_nccl_hook hook, const void *object);

/* Writes the fact "nccl.hooks" as it is now, and again with each hook that comes later.  When the process is traced,
 * off the record path. */
void ipo_nccl_hooks_report(void);

/* Reads the slots of all objects again, also in a process that uses no MPI: the CUDA driver is being looked up, and an
 * object with a hidden NCCL (linked statically, as in Horovod) may soon ask getenv.  In the program's dlsym. */
void ipo_cuda_coming(void);
/* Whether that has happened. */
bool ipo_nccl_may_be_hidden(void);

/* Does what getenv(3) does for the program and its libraries.  Keeps getenv's contract; any thread. */
char *ipo_nccl_getenv(const char *name);

/* Whether NCCL was given libtrace.so as its profiler plugin. */
bool ipo_nccl_plugin_offered(void);
