/* The hooks in NCCL, which of them are open, and how NCCL finds those that it opens itself.
 *
 * A profiler plugin and an NVTX injection are named by environment variables.  Setting them would change what the
 * program and its children see; so the getenv of the objects that have NCCL in them leads here, and answers for these
 * two names where the environment has nothing.  What the user set is never replaced. */
#ifndef IPO_NCCL_HOOKS_H
#define IPO_NCCL_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

enum ipo_nccl_hook {
    IPO_HOOK_SYMBOLS = 1u << 0,
    IPO_HOOK_DLSYM = 1u << 1,
    IPO_HOOK_PLUGIN = 1u << 2,
    IPO_HOOK_NVTX = 1u << 3,
    IPO_HOOK_CHANNELS = 1u << 4 /* of the plugin: when the parts of a kernel begin and end; costs NCCL some percent */
};

/* Whether the user lets a hook be used (HPCTOP_NCCL). */
bool ipo_nccl_hook_allowed(enum ipo_nccl_hook hook);

/* Something came through a hook; from the first time on the head's facts name it.  `object`: base address of the
 * object that has this NCCL.  Any thread; cheap when it was said before. */
void ipo_nccl_hook_live(enum ipo_nccl_hook hook, const void *object);
bool ipo_nccl_hook_is_live(enum ipo_nccl_hook hook, const void *object);

/* Once the process is traced: the facts so far. */
void ipo_nccl_hooks_report(void);

/* The driver of CUDA is being looked up: what has NCCL in it without showing it (statically, as Horovod) may soon use
 * it.  Leads slots of getenv here. */
void ipo_cuda_coming(void);
/* Whether slots of getenv are to be led here in all objects (else only in those that define NCCL). */
bool ipo_nccl_may_be_hidden(void);

/* getenv(3) of the objects that have NCCL, or may have. */
char *ipo_nccl_getenv(const char *name);

/* Whether NCCL was told that we are its profiler plugin. */
bool ipo_nccl_plugin_offered(void);

#endif
