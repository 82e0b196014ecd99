/* Stacks and signals, as a source of the recorder. */
#include "interpose/core/source.h"
#include "interpose/stacks/stacks_impl.h"
#include "interpose/stacks/fatal.h"
#include "interpose/core/facts.h"
#include "interpose/core/filter.h"
#include "interpose/core/state.h"
#include "interpose/unwind/libunwind.h"

static void start_recording(void)
{
    ipo_guard_start(); /* the MPI library may have installed a handler in front of ours */
    if (ipo_process.options.stacks && !ipo_filter_is_there() && ipo_libunwind_start(ipo_process.options.unwind))
        ipo_fact("unwind", "libunwind");
    ipo_fatal_start();
}

static ipo_function find_wrapper(const struct ipo_name *name, const struct ipo_object *object, const void *bound)
{
    (void)object, (void)bound;
    if (name->table != IPO_NAMES_LIBC)
        return NULL;
    ipo_function found = ipo_guard_wrapper_of((enum ipo_libc)name->row);
    if (!found)
        found = ipo_filter_wrapper_of((enum ipo_libc)name->row);
    return found ? found : ipo_ending_wrapper_of((enum ipo_libc)name->row);
}

static void look_for_triggers(bool last)
{
    if (!last) /* MPI_Finalize does not wait for stacks */
        ipo_triggers_round();
}

static const struct ipo_source stacks_source = {.name = "stacks",
                                                .wrapper_of = find_wrapper,
                                                .begun = ipo_guard_start,
                                                .live = ipo_triggers_start,
                                                .run = start_recording,
                                                .wake = ipo_fatal_round,
                                                .second = ipo_fatal_watch,
                                                .round = look_for_triggers,
                                                .aborting = ipo_ending_aborted,
                                                .said = ipo_ending_printed,
                                                .stop = ipo_fatal_stop};
IPO_SOURCE(stacks_source);
