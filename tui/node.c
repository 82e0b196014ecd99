#include "tui/node.h"
#include "trace/device.h"
#include "trace/numfmt.h"
#include "tui/json.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <time.h>

enum { EVERY_S = 1, RAS_EVERY = 5 };

/* One node, so one of it.  The thread may be stuck in a driver: it is never waited for, and ends with the program. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told = PTHREAD_COND_INITIALIZER;
static struct tui_node latest;
static bool started, known;

static void pause_s(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void *ask(void *unused)
{
    (void)unused;
    struct tui_nvml *nvml = tui_nvml_open();
    struct tui_node node = {0};
    if (nvml) { /* rates are of two looks */
        tui_nvml_ask(nvml, node.gpu, TUI_NODE_GPUS);
        pause_s(0.3);
    }
    for (unsigned round = 0;; round++) {
        if (round % RAS_EVERY == 0)
            tui_ras_ask(&node);
        node.gpu_count = nvml ? tui_nvml_ask(nvml, node.gpu, TUI_NODE_GPUS) : 0;
        pthread_mutex_lock(&lock);
        latest = node;
        known = true;
        pthread_cond_broadcast(&told);
        pthread_mutex_unlock(&lock);
        pause_s(EVERY_S);
    }
    return NULL;
}

static void start(void)
{
    pthread_t thread;
    if (!started && (started = pthread_create(&thread, NULL, ask, NULL) == 0))
        pthread_detach(thread);
}

static bool answer(struct tui_node *out)
{
    if (known)
        *out = latest;
    return known && (latest.gpu_count || latest.ras);
}

bool tui_node_look(const struct ana_job *job, struct tui_node *out)
{
    if (!ana_gpu_is_here(job))
        return false;
    pthread_mutex_lock(&lock);
    start();
    bool some = answer(out);
    pthread_mutex_unlock(&lock);
    return some;
}

bool tui_node_wait(const struct ana_job *job, double seconds, struct tui_node *out)
{
    if (!ana_gpu_is_here(job))
        return false;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&lock);
    start();
    while (!known && pthread_cond_timedwait(&told, &lock, &until) != ETIMEDOUT)
        ;
    bool some = answer(out);
    pthread_mutex_unlock(&lock);
    return some;
}

/* ---- the report -----------------------------------------------------------------------------------------------------
 */

void tui_node_report(const struct ana_job *job, bool utf8, FILE *out)
{
    struct tui_node node;
    if (!tui_node_wait(job, 5, &node))
        return;
    fprintf(out, "\nTHIS NODE, now\n");
    for (size_t i = 0; i < node.gpu_count; i++) {
        const struct tui_node_gpu *g = &node.gpu[i];
        char text[5][ANA_TEXT];
        const double value[] = {g->busy, g->nvlink_sent, g->nvlink_received, g->pcie_sent, g->pcie_received};
        for (int k = 0; k < 5; k++)
            ana_number(text[k], sizeof text[k], k ? ANA_BYTES : ANA_SHARE, value[k], utf8);
        fprintf(out, "  GPU %zu %s: busy %s, NVLink %s/s out, %s/s in, PCIe %s/s out, %s/s in\n", i, g->name, text[0],
                text[1], text[2], text[3], text[4]);
    }
    if (node.ras)
        fprintf(out, "  NCCL's RAS: %s\n", node.ras_text);
}

void tui_node_json(cJSON *root, const struct ana_job *job)
{
    struct tui_node node = {0};
    tui_node_wait(job, 5, &node);
    cJSON *list = cJSON_AddArrayToObject(root, "node_gpus");
    for (size_t i = 0; i < node.gpu_count; i++) {
        const struct tui_node_gpu *g = &node.gpu[i];
        cJSON *o = cJSON_CreateObject();
        tui_json_text(o, "name", g->name);
        tui_json_real(o, "busy", g->busy);
        tui_json_real(o, "nvlink_sent_per_s", g->nvlink_sent);
        tui_json_real(o, "nvlink_received_per_s", g->nvlink_received);
        tui_json_real(o, "pcie_sent_per_s", g->pcie_sent);
        tui_json_real(o, "pcie_received_per_s", g->pcie_received);
        cJSON_AddItemToArray(list, o);
    }
    tui_json_text(root, "nccl_ras", node.ras ? node.ras_text : NULL);
}
