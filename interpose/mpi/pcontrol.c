#include "interpose/mpi/pcontrol.h"
#include "interpose/core/state.h"
#include "interpose/mpi/thread.h"
#include "trace/writer/switch.h"

#include <string.h>

void ipo_pcontrol(int level)
{
    const bool off = level == 0;
    if (level < 0 || !ipo_process.options.pcontrol[0])
        return;
    if (trc_writer_switch(&ipo_process.writer, !off))
        ipo_arm_off(off);
}

void ipo_pcontrol_start(void)
{
    if (strcmp(ipo_process.options.pcontrol, "off") == 0)
        ipo_pcontrol(0);
}

bool ipo_pcontrol_follow(void)
{
    struct ipo_thread *thread = ipo_thread_self();
    if (thread)
        trc_stream_switch_off(&thread->stream);
    return thread != NULL;
}
