/* Streams over time. */
#include "trace/gpu/device_data.h"
#include "trace/job/analysis.h"
#include "trace/util/sort.h"

ANA_COMPARE(by_number, uint64_t, ANA_ORDER(*x, *y))

/* Stream i, in the order of ranks and threads; the list is made anew when there are more. */
static struct stream *stream_at(const struct ana_job *job, size_t i)
{
    struct ana_devices *gpu = ana_job_analysis(job)->gpu;
    if (!gpu || i >= gpu->streams.count)
        return NULL;
    if (gpu->ordered != gpu->streams.count) {
        uint64_t *grown = realloc(gpu->order, gpu->streams.count * sizeof *grown);
        if (!grown)
            return NULL;
        gpu->order = grown;
        gpu->ordered = gpu->streams.count;
        for (size_t k = 0; k < gpu->ordered; k++)
            grown[k] = ana_map_key(&gpu->streams, k)[0] << 16 | ana_map_key(&gpu->streams, k)[1];
        ana_sort(grown, gpu->ordered, sizeof *grown, by_number);
    }
    return ana_map_find(&gpu->streams, gpu->order[i] >> 16, gpu->order[i] & 0xffff, 0);
}

size_t ana_streams(const struct ana_job *job)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    return analysis->gpu ? analysis->gpu->streams.count : 0;
}

struct ana_stream ana_stream(const struct ana_job *job, size_t i)
{
    const struct stream *s = stream_at(job, i);
    return s ? s->of : (struct ana_stream){0};
}

void ana_stream_timeline(struct ana_job *job, size_t i, int64_t begin_ns, int64_t end_ns, size_t n,
                         struct ana_timeline_cell *out)
{
    const struct ana_members *members = ana_job_members(job);
    memset(out, 0, n * sizeof *out);
    struct stream *s = stream_at(job, i);
    if (!s || n == 0 || end_ns <= begin_ns)
        return;
    int64_t from = members->process[s->of.index].rank.begin_ns, to = members->process[s->of.index].rank.end_ns;
    for (size_t c = 0; c < n; c++) {
        int64_t edge[] = {begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)c / (double)n),
                          begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)(c + 1) / (double)n)};
        int64_t known_from = edge[0] > from ? edge[0] : from, known_to = edge[1] < to ? edge[1] : to;
        if (known_to <= known_from)
            continue;
        struct ana_lane_sum sum = {0};
        double whole = (double)(known_to - known_from), busy = 0;
        ana_lane_add(&s->lane, edge, 1, INT64_MAX, false, &sum);
        for (int k = 0; k < TRC_CATEGORIES; k++)
            busy += sum.ns[k];
        whole = busy > whole ? busy : whole;
        for (int k = 0; k < TRC_CATEGORIES; k++)
            out[c].share[k] = (float)(sum.ns[k] / whole);
        out[c].share[TRC_CAT_COMPUTE] = (float)((whole - busy) / whole);
    }
}
