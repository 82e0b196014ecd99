/* What this machine itself says while a job runs on it, beside the traces: NVML of its GPUs, and NCCL's RAS (both need
 * nothing of the job).  A thread asks each, since a driver may not answer; nobody waits for them but tui_node_wait. */
#ifndef TUI_NODE_H
#define TUI_NODE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/job/job.h"

enum { TUI_NODE_GPUS = 16 };
struct tui_node_gpu {
    char name[64];
    double busy; /* share of the time that any kernel ran, of the last second or so, 0..1 */
    /* Bytes/s, of all links together; NAN unknown (a card without NVLink, say). */
    double nvlink_sent, nvlink_received, pcie_sent, pcie_received;
};
struct tui_ras {
    bool answers;
    bool trouble;       /* not all is well with our job */
    bool doubt;         /* it may be another job's: `text` says so, and where it is */
    unsigned processes; /* of its job; 0: it does not say */
    char text[256];     /* "1 communicator of 8 ranks RUNNING, OK" */
};
struct tui_node {
    size_t gpu_count; /* 0: no NVML, or it does not answer */
    struct tui_node_gpu gpu[TUI_NODE_GPUS];
    struct tui_ras ras;
};

/* The last answers, for a job of which ranks use GPUs and run here; the first call begins to ask.  False: there are
 * none (yet).  Any thread. */
bool tui_node_look(const struct ana_job *job, struct tui_node *out);
/* The same, and waits for the first answers: for as long as `seconds`. */
bool tui_node_wait(const struct ana_job *job, double seconds, struct tui_node *out);
/* Ends the program.  With a thread of ours in a driver no exit handlers are run, which take the driver away from it. */
_Noreturn void tui_node_exit(int status);

/* ---- node_nvml.c, of the asking thread */
struct tui_nvml;
struct tui_nvml *tui_nvml_open(void); /* libnvidia-ml.so.1, wherever the loader finds it; NULL: not present */
/* Of the first TUI_NODE_GPUS, those that answer.  Rates since the call before; the first has none.  Takes some 20 ms a
 * GPU.  Returns the number of GPUs. */
size_t tui_nvml_ask(struct tui_nvml *nvml, struct tui_node_gpu *out, size_t most);
void tui_nvml_close(struct tui_nvml *nvml);

/* ---- node_ras.c, the same */
/* Asks for the status there; false: nobody answers within some seconds, in all. */
bool tui_ras_ask(struct tui_ras *out);
/* NCCL_RAS_ADDR, else localhost:28028. */
const char *tui_ras_address(void);
/* What its text says, in one line; true: not all is well. */
bool tui_ras_summary(const char *text, char *out, size_t size);
/* Processes of its job, else ranks of its largest communicator; 0: it does not say. */
unsigned tui_ras_processes(const char *text);

#endif
