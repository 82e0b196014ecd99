/* How NCCL does an operation, where it says so: facts "nccl.how ncclAllReduce 65536 B of 2: RING LL, 2 channels", as
 * its profiler plugin tells them. */
#include "trace/device_impl.h"
#include "trace/histogram.h"
#include "trace/job_impl.h"
#include <stdio.h>
#include <string.h>

/* Puts `word` into `out`, or "several" where another one is there. */
static void note(char *out, size_t size, const char *word)
{
    snprintf(out, size, "%s", out[0] && strcmp(out, word) != 0 ? "several" : word);
}

void ana_nccl_how(const struct ana_job *job, struct ana_nccl_stat *s)
{
    static const char prefix[] = "nccl.how ";
    /* NCCL counts one rank's part; S of these is that of all. */
    bool parts = strncmp(s->call, "ncclAllGather", 13) == 0 || strncmp(s->call, "ncclReduceScatter", 17) == 0;
    for (size_t i = 0; i < job->count; i++) {
        const char *key, *value;
        for (size_t f = 0; trc_fact_at(job->process[i].rank.file, f, &key, &value); f++) {
            char call[48], algorithm[16], protocol[16];
            unsigned long long bytes;
            int ranks;
            unsigned channels;
            if (strncmp(key, prefix, sizeof prefix - 1) != 0 ||
                sscanf(key + sizeof prefix - 1, "%47s %llu B of %d", call, &bytes, &ranks) != 3 || ranks != s->size ||
                strncmp(s->call, call, strlen(call)) != 0 ||
                (s->call[strlen(call)] && strcmp(s->call + strlen(call), "Config") != 0) ||
                trc_size_class(parts ? bytes * (unsigned long long)ranks : bytes) != (unsigned)s->size_class ||
                sscanf(value, "%15s %15[^,], %u", algorithm, protocol, &channels) != 3)
                continue;
            note(s->algorithm, sizeof s->algorithm, algorithm);
            note(s->protocol, sizeof s->protocol, protocol);
            s->channels_least = !s->channels_most || channels < s->channels_least ? channels : s->channels_least;
            s->channels_most = channels > s->channels_most ? channels : s->channels_most;
        }
    }
}
