/* State of this machine while a job runs on it: NVML for its GPUs, and NCCL's RAS.  Neither needs the job.  A thread
 * asks each, since a driver may never answer; only tui_node_wait waits for them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "trace/job/job.h"

enum { TUI_NODE_GPUS = 16 };
struct tui_node_gpu {
    char name[64];
    double busy; /* share of about the last second in which a kernel ran, 0..1 */
    /* Bytes/s, of all links together; NAN: unknown, as for a card without NVLink. */
    double nvlink_sent, nvlink_received, pcie_sent, pcie_received;
};
struct tui_ras {
    bool answers;
    bool trouble;       /* something is wrong in the job */
    bool doubt;         /* it may speak of another job: `text` says so, and where it is */
    unsigned processes; /* processes of its job; 0: unknown */
    char text[256];     /* "1 communicator of 8 ranks RUNNING, OK" */
};
struct tui_node {
    size_t gpu_count; /* 0: no NVML, or it does not answer */
    struct tui_node_gpu gpu[TUI_NODE_GPUS];
    struct tui_ras ras;
};

/* Copies the last answers, for a job whose ranks use GPUs and run here; the first call starts the threads that ask.
 * False if there are none, or none yet.  Any thread. */
bool tui_node_sample(const struct ana_job *job, struct tui_node *out);

/* Copies the first answers, waited for at most `seconds`; else as tui_node_sample.  Any thread. */
bool tui_node_wait(const struct ana_job *job, double seconds, struct tui_node *out);

/* Ends the program.  If a thread that asks was started, exit handlers are not run: they would unload a driver that the
 * thread may be in. */
_Noreturn void tui_node_exit(int status);

/* ---- node_nvml.c: for the thread that asks ----------------------------------------------------------------------- */

struct tui_nvml;

/* Opens libnvidia-ml.so.1, where the loader finds it; it stays until hpctop ends.  NULL: it is not there or not
 * ready. */
struct tui_nvml *tui_nvml_open(void);

/* Asks the first TUI_NODE_GPUS GPUs; returns the number that answered, at most `most`.  Rates cover the time since
 * the last call, and are unknown in the first.  Takes about 20 ms a GPU. */
size_t tui_nvml_ask(struct tui_nvml *nvml, struct tui_node_gpu *out, size_t most);

/* ---- node_ras.c: for the thread that asks ------------------------------------------------------------------------ */

/* Asks the server at tui_ras_address for its status, for at most 4 s.  False if nobody answers. */
bool tui_ras_ask(struct tui_ras *out);

/* The address of the server: NCCL_RAS_ADDR, else localhost:28028. */
const char *tui_ras_address(void);

/* Writes what a status says into `out`, in one line.  True if something is wrong in the job. */
bool tui_ras_summary(const char *text, char *out, size_t size);

/* The processes of the job in a status, else the ranks of its largest communicator; 0: unknown. */
unsigned tui_ras_processes(const char *text);
