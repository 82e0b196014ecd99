/* Ranks that are in the same collective of a communicator with other arguments. */
#include "trace/verdict/gpu.h"
#include <stdio.h>
#include <string.h>

/* "ncclBcast" and "ncclBroadcastConfig" are "ncclBroadcast". */
static bool same_call(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b);
    if (strcmp(a, "ncclBcast") == 0)
        return same_call("ncclBroadcast", b);
    if (strcmp(b, "ncclBcast") == 0)
        return same_call(a, "ncclBroadcast");
    n -= n > 6 && strcmp(a + n - 6, "Config") == 0 ? 6 : 0;
    m -= m > 6 && strcmp(b + m - 6, "Config") == 0 ? 6 : 0;
    return n == m && memcmp(a, b, n) == 0;
}

struct terms {
    size_t index;
    const char *call;
    const struct trc_gpu_op *op;
};

static bool agree(const struct terms *a, const struct terms *b)
{
    bool own = a->op->op == TRC_GPU_OP_OWN || b->op->op == TRC_GPU_OP_OWN; /* numbers of a rank's own */
    return same_call(a->call, b->call) && a->op->count == b->op->count && a->op->type == b->op->type &&
           a->op->root == b->op->root && (own || a->op->op == b->op->op);
}

/* "1024 x float32". */
static void data_words(const struct trc_gpu_op *op, char *out, size_t size)
{
    const char *type = trc_gpu_type_name(op);
    snprintf(out, size, type ? "%llu x %s" : "%llu bytes", (unsigned long long)op->count, type);
}

static void say(struct ana_case *c, const struct ana_gpu_meet *m, const struct terms *odd, size_t odds,
                const struct terms *usual, size_t all)
{
    char who[128], others[64], comm[128], a[64], b[64];
    bool tie = odds * 2 == all;
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (odds == 1 || tie)
        snprintf(who, sizeof who, "rank %s", ana_rank_label(c->job, odd->index).text);
    if (all - odds == 1 || tie)
        snprintf(others, sizeof others, "rank %s", ana_rank_label(c->job, usual->index).text);
    else
        snprintf(others, sizeof others, "the other %zu", all - odds);
    ana_comm_words(c->job, m->comm, comm, sizeof comm);
    data_words(odd->op, a, sizeof a);
    data_words(usual->op, b, sizeof b);
    unsigned long long n = (unsigned long long)m->sequence + 1;
    if (!same_call(odd->call, usual->call))
        ana_case_say(c, "%s called %s where %s called %s: collective %llu on %s", who, odd->call, others, usual->call,
                     n, comm);
    else if (strcmp(a, b) != 0)
        ana_case_say(c, "%s gave %s to %s where %s gave %s: collective %llu on %s", who, a, odd->call, others, b, n,
                     comm);
    else if (odd->op->root != usual->op->root)
        ana_case_say(c, "%s gave root %d to %s where %s gave root %d: collective %llu on %s", who, odd->op->root,
                     odd->call, others, usual->op->root, n, comm);
    else
        ana_case_say(c, "%s gave %s to %s where %s gave %s: collective %llu on %s", who, trc_gpu_op_name(odd->op),
                     odd->call, others, trc_gpu_op_name(usual->op), n, comm);
    ana_case_evidence(c, "both are collective %llu on that communicator in the ranks' own tables of operations", n);
}

#define MOST 1024u

static bool judge(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    static _Thread_local struct terms terms[MOST];
    size_t n = 0, best = 0, best_count = 0, odd = SIZE_MAX, odds = 0;
    for (size_t i = 0; i < c->count && n < MOST; i++) {
        bool in = ana_gpu_is_member(c, gpu, m, i);
        const struct trc_gpu_op *op = in ? ana_gpu_op_of(c, i, m->identity, m->sequence) : NULL;
        if (op && op->state != TRC_GPU_FAILED)
            terms[n++] = (struct terms){i, trc_call(c->job->process[i].rank.file, op->call)->name, op};
    }
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += agree(&terms[i], &terms[k]);
        if (same > best_count) {
            best = i;
            best_count = same;
        }
        if (same == n)
            return false; /* as nearly always */
    }
    for (size_t i = 0; i < n; i++)
        if (!agree(&terms[best], &terms[i]) && odds++ == 0)
            odd = i;
    if (odds == 0 || !ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, m->lasted_ns))
        return false;
    for (size_t i = 0; i < n; i++)
        if (odds * 2 == n || !agree(&terms[best], &terms[i]))
            ana_case_blame(c, terms[i].index);
    say(c, m, &terms[odd], odds, &terms[best], n);
    return true;
}

bool ana_gpu_mismatch(struct ana_case *c, const struct ana_gpu *gpu)
{
    for (size_t i = 0; i < gpu->meets; i++)
        if (gpu->meet[i].lasted_ns >= c->rules.proof_ns && judge(c, gpu, &gpu->meet[i]))
            return true;
    return false;
}
