#include "tui/sources/node.h"
#include "tui/sources/sentences_impl.h"
#include "trace/gpu/device.h"
#include "trace/util/now.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EVERY_S = 1, RAS_EVERY_S = 5 };
enum { GPUS = 1, RAS = 2, ALL = GPUS | RAS };

/* One state: there is one node.  Its threads may be stuck in a driver, so nobody waits for their end. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct tui_node latest;
static bool started;
static unsigned known; /* parts whose first answer has come, or will never come */

static void sleep_s(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void publish(const struct tui_node *node, unsigned part)
{
    pthread_mutex_lock(&lock);
    if (part == RAS) {
        latest.ras = node->ras;
    } else {
        memcpy(latest.gpu, node->gpu, sizeof latest.gpu);
        latest.gpu_count = node->gpu_count;
    }
    known |= part;
    pthread_cond_broadcast(&answered);
    pthread_mutex_unlock(&lock);
}

static void *ask_gpus(void *unused)
{
    struct tui_node node = {0};
    struct tui_nvml *nvml = tui_nvml_open();
    if (nvml) { /* rates need two samples */
        tui_nvml_ask(nvml, node.gpu, TUI_NODE_GPUS);
        sleep_s(0.3);
    }
    do {
        node.gpu_count = nvml ? tui_nvml_ask(nvml, node.gpu, TUI_NODE_GPUS) : 0;
        publish(&node, GPUS);
        sleep_s(EVERY_S);
    } while (nvml);
    return unused;
}

static void *ask_ras(void *unused)
{
    struct tui_node node = {0};
    for (;;) {
        tui_ras_ask(&node.ras);
        publish(&node, RAS);
        sleep_s(RAS_EVERY_S);
    }
    return unused;
}

static void start_threads(void)
{
    pthread_t thread;
    void *(*const ask[])(void *) = {ask_gpus, ask_ras};
    for (unsigned i = 0; !started && i < 2; i++)
        if (pthread_create(&thread, NULL, ask[i], NULL) == 0)
            pthread_detach(thread);
        else
            known |= 1u << i;
    started = true;
}

void tui_node_exit(int status)
{
    fflush(stdout);
    fflush(stderr);
    pthread_mutex_lock(&lock);
    if (started)
        _exit(status);
    pthread_mutex_unlock(&lock);
    exit(status);
}

static bool copy_latest(const struct ana_job *job, struct tui_node *out)
{
    if (known)
        *out = latest;
    if (!known || !(latest.gpu_count || latest.ras.answers))
        return false;
    if (latest.ras.answers && !ana_gpu_could_be(job, latest.ras.processes)) {
        out->ras.doubt = true;
        out->ras.trouble = false;
        snprintf(out->ras.text, sizeof out->ras.text, SAY_RAS_AT, tui_ras_address(), latest.ras.text);
    }
    return true;
}

bool tui_node_sample(const struct ana_job *job, struct tui_node *out)
{
    if (!ana_gpu_is_here(job))
        return false;
    pthread_mutex_lock(&lock);
    start_threads();
    bool some = copy_latest(job, out);
    pthread_mutex_unlock(&lock);
    return some;
}

bool tui_node_wait(const struct ana_job *job, double seconds, struct tui_node *out)
{
    if (!ana_gpu_is_here(job))
        return false;
    const int64_t until_ns = ana_wall_ns() + (int64_t)seconds * 1000000000;
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};
    pthread_mutex_lock(&lock);
    start_threads();
    while (known != ALL && pthread_cond_timedwait(&answered, &lock, &until) != ETIMEDOUT)
        ;
    bool some = copy_latest(job, out);
    pthread_mutex_unlock(&lock);
    return some;
}
