#include "trace/gpu/nccl_bandwidth.h"
#include "trace/format/format.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

/* The meaning of S: one rank's part, or all parts, which only a root or a receiver of all sees whole. */
enum size_of { LARGER, TIMES_RANKS };
/* The factor f: 1, (n-1)/n or 2(n-1)/n. */
enum factor { ONE, PART, TWICE };

static const struct operation {
    const char *name;
    enum size_of size;
    enum factor factor;
} operations[] = {
    /* AllReduce, Broadcast, Reduce, Send: count x size.  The others: count x size x n, and `count` is a part: the
     * larger of sent and received is already all n parts, except on ranks of Gather and Scatter that are not the
     * root.
     */
    {"ncclAllReduce", LARGER, TWICE}, {"ncclAllGather", LARGER, PART},   {"ncclReduceScatter", LARGER, PART},
    {"ncclAlltoAll", LARGER, PART},   {"ncclGather", TIMES_RANKS, PART}, {"ncclScatter", TIMES_RANKS, PART},
    {"ncclBroadcast", LARGER, ONE},   {"ncclBcast", LARGER, ONE},        {"ncclReduce", LARGER, ONE},
    {"ncclSend", LARGER, ONE},        {"ncclRecv", LARGER, ONE},
};

/* The operation of a call's name, with or without the "Config" of NCCL 2.31. */
static const struct operation *find_operation(const char *call)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        size_t n = strlen(operations[i].name);
        if (strncmp(call, operations[i].name, n) == 0 && (call[n] == 0 || strcmp(call + n, "Config") == 0))
            return &operations[i];
    }
    return NULL;
}

uint64_t ana_nccl_size(const char *call, uint64_t sent, uint64_t received, int32_t ranks)
{
    const struct operation *op = find_operation(call);
    if (!op || ranks < 1 || sent == TRC_BYTES_UNKNOWN || received == TRC_BYTES_UNKNOWN)
        return UINT64_MAX;
    if (op->size == LARGER)
        return sent > received ? sent : received;
    bool all = sent > 0 && received > 0; /* the root: it has its own part, too */
    uint64_t larger = sent > received ? sent : received;
    return all ? larger : larger * (uint64_t)ranks;
}

double ana_nccl_bus_factor(const char *call, int32_t ranks)
{
    const struct operation *op = find_operation(call);
    if (!op || ranks < 2)
        return NAN;
    double n = ranks;
    return op->factor == ONE ? 1 : op->factor == PART ? (n - 1) / n : 2 * (n - 1) / n;
}

bool ana_nccl_together(const char *call)
{
    static const char *const all[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclAlltoAll"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strncmp(call, all[i], strlen(all[i])) == 0)
            return true;
    return false;
}

enum ana_nccl_function ana_nccl_function_of(const char *name)
{
    /* Names of functions in kernels' names; ReduceScatter must stand before Reduce. */
    static const struct {
        const char *part;
        enum ana_nccl_function function;
    } known[] = {{"AllReduce", ANA_NCCL_ALL_REDUCE},
                 {"AllGather", ANA_NCCL_ALL_GATHER},
                 {"ReduceScatter", ANA_NCCL_REDUCE_SCATTER},
                 {"Broadcast", ANA_NCCL_BROADCAST},
                 {"ncclBcast", ANA_NCCL_BROADCAST},
                 {"SendRecv", ANA_NCCL_SEND_RECV},
                 {"ncclSend", ANA_NCCL_SEND_RECV},
                 {"ncclRecv", ANA_NCCL_SEND_RECV},
                 {"ncclAlltoAll", ANA_NCCL_SEND_RECV},
                 {"ncclGather", ANA_NCCL_SEND_RECV},
                 {"ncclScatter", ANA_NCCL_SEND_RECV},
                 {"_Reduce_", ANA_NCCL_REDUCE},
                 {"ncclReduce", ANA_NCCL_REDUCE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(name, known[i].part))
            return known[i].function;
    return ANA_NCCL_ANY;
}

/* After what the compiler put before it: up to 2.18, from 2.19, symmetric ones of 2.27 and 2.28, one rank alone. */
bool ana_nccl_kernel(const char *name)
{
    static const char *const parts[] = {"ncclKernel_", "ncclDevKernel_", "ncclSymDevKernel", "ncclSymkDevKernel",
                                        "oneRankReduce"};
    for (size_t i = 0; name && i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}
