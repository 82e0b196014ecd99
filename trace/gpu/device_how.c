/* NCCL's algorithm for an operation, if its profiler plugin reported it: facts "nccl.how ncclAllReduce 65536 B of 2:
 * RING LL, 2 channels".  They are read for all rows at once, when new ones came. */
#include "trace/gpu/device_impl.h"
#include "trace/job/comms.h"
#include "trace/util/hash.h"
#include <stdlib.h>

struct how {
    char algorithm[16], protocol[16];
    unsigned channels_least, channels_most;
};

/* The hash of a call's name: equal for "ncclAllGather" and "ncclAllGatherConfig". */
static uint64_t hash_of(const char *call)
{
    size_t n = strlen(call);
    if (n > 6 && strcmp(call + n - 6, "Config") == 0)
        n -= 6;
    return ana_hash(call, n);
}

/* Writes `word` into `out`, or "several" where another word is there. */
static void note_word(char *out, size_t size, const char *word)
{
    snprintf(out, size, "%s", out[0] && strcmp(out, word) != 0 ? "several" : word);
}

static void read_fact(struct ana_nccl_hows *hows, const char *key, const char *value)
{
    static const char prefix[] = "nccl.how ";
    char call[48], algorithm[16], protocol[16];
    unsigned long long bytes;
    int ranks;
    unsigned channels;
    if (strncmp(key, prefix, sizeof prefix - 1) != 0 ||
        sscanf(key + sizeof prefix - 1, "%47s %llu B of %d", call, &bytes, &ranks) != 3 ||
        sscanf(value, "%15s %15[^,], %u", algorithm, protocol, &channels) != 3)
        return;
    /* NCCL tells one rank's part for these calls; S is the sum over all ranks. */
    if (strcmp(call, "ncclAllGather") == 0 || strcmp(call, "ncclReduceScatter") == 0)
        bytes *= (unsigned long long)ranks;
    struct how *how = ana_map_add(&hows->how, hash_of(call), trc_size_class(bytes), (uint64_t)ranks);
    if (!how)
        return;
    note_word(how->algorithm, sizeof how->algorithm, algorithm);
    note_word(how->protocol, sizeof how->protocol, protocol);
    how->channels_least = !how->channels_most || channels < how->channels_least ? channels : how->channels_least;
    how->channels_most = channels > how->channels_most ? channels : how->channels_most;
}

void ana_nccl_hows_read(struct ana_nccl_hows *hows, const struct ana_job *job)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < ana_job_ranks(job); i++)
        seen += trc_facts_seen(ana_job_rank(job, i)->file);
    if (seen == hows->facts_seen)
        return;
    ana_map_free(&hows->how); /* a fact may have replaced another one */
    ana_map_init(&hows->how, sizeof(struct how));
    for (size_t i = 0; i < ana_job_ranks(job); i++) {
        const char *key, *value;
        for (size_t f = 0; trc_fact_at(ana_job_rank(job, i)->file, f, &key, &value); f++)
            read_fact(hows, key, value);
    }
    hows->facts_seen = seen;
}

void ana_nccl_how(const struct ana_nccl_hows *hows, struct ana_nccl_stat *s)
{
    const struct how *how =
        ana_map_find(&hows->how, hash_of(s->call), (uint64_t)s->size_class, (uint64_t)(int64_t)s->size);
    if (!how)
        return;
    memcpy(s->algorithm, how->algorithm, sizeof s->algorithm);
    memcpy(s->protocol, how->protocol, sizeof s->protocol);
    s->channels_least = how->channels_least;
    s->channels_most = how->channels_most;
}
