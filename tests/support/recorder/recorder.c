#include "tests/support/recorder/recorder.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/record.h"
#include "interpose/mpi/multi_mpi.h"
#include "trace/format/opclass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[96];

static uint64_t ticks(void)
{
    return ipo_ticks();
}

static void fail(const char *what)
{
    printf("the recorder does not start: %s\n", what);
    exit(1);
}

static void open_file(const struct recorder_setup *setup)
{
    static struct trc_call rows[IPO_CALLS];
    for (int i = 0; i < IPO_CALLS; i++)
        rows[i] = (struct trc_call){
            .name = ipo_calls[i].name,
            .opclass = ipo_calls[i].opclass == TRC_OP_PASS ? TRC_OP_OTHER : (enum trc_opclass)ipo_calls[i].opclass};
    struct trc_head head = {.state = TRC_STATE_RUNNING,
                            .clock_source = TRC_CLOCK_MONOTONIC,
                            .abi = ipo_abi.id,
                            .rank = setup->rank,
                            .world_size = setup->size,
                            .thread_level = setup->concurrent ? 3 : 1,
                            .pid = (uint32_t)getpid()};
    strcpy(folder, "/tmp/hpctop-recorder-XXXXXX");
    if (!mkdtemp(folder))
        fail("no folder");
    snprintf(path, sizeof path, "%s/rank.hpctop", folder);
    ipo_process.writer.calls = rows;
    ipo_process.writer.call_count = IPO_CALLS;
    if (trc_writer_open(&ipo_process.writer, path, 64u << 20, &head, ticks))
        fail("no file");
}

void recorder_start(const struct recorder_setup *setup)
{
    ipo_calls_prepare(ipo_classes);
    fake_mpi_start(setup->family, setup->rank, setup->size);
    if (!ipo_arm_page() || !ipo_requests_start())
        fail("no memory");
    open_file(setup);
    ipo_process.pid = (uint32_t)getpid();
    ipo_process.concurrent = ipo_process.serialized = setup->concurrent;
    ipo_process.usual = !setup->concurrent;
    ipo_active_range = (struct ipo_range){0, UINTPTR_MAX};
    ipo_request_reserve(ipo_abi.request_null);
    ipo_comms_start(0x1234, true);
    ipo_arm(IPO_FOR_MPI, IPO_ARMED);
}

int recorder_call(uint64_t site, enum ipo_call_id id, const uintptr_t *args)
{
    uintptr_t a[16] = {0};
    memcpy(a, args, ipo_calls[id].arity * sizeof *a);
    struct ipo_frame frame;
    frame.address = __builtin_frame_address(0);
    frame.site = site; /* address of no module: the path is that site alone */
    frame.stack = frame.caller = 0;
    bool entered = ipo_enter(&frame, id, a);
    /* More words than the function takes do no harm: the caller removes them. */
    int result = ((int (*)(w, w, w, w, w, w, w, w, w, w, w, w, w))ipo_real[id])(
        a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12]);
    if (entered)
        ipo_leave(&frame, a, result);
    return result;
}

struct trc_file *recorder_read(void)
{
    struct trc_file *file = NULL;
    char error[512];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK)
        fail(error);
    return file;
}

void recorder_remove(void)
{
    unlink(path);
    rmdir(folder);
}
