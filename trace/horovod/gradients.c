/* Bytes that Horovod reduced, by library, and the library of the control rounds.
 *
 * The volume is that of all agreed tensors; the part in no recorded call went by a library that hides its calls. */
#include "trace/horovod/horovod_impl.h"
#include "trace/util/numfmt.h"

#define SLACK 0.05 /* share of the volume: tensors agreed on, whose operation is under way */

const struct hvd_type hvd_types[HVD_TYPES] = {{"uint8", 1},   {"int8", 1},  {"uint16", 2},  {"int16", 2},
                                              {"int32", 4},   {"int64", 8}, {"float16", 2}, {"float32", 4},
                                              {"float64", 8}, {"bool", 1},  {"byte", 1}};

enum ana_hvd_library hvd_library_of(const struct trc_call *call)
{
    if (trc_opclass_category(call->opclass) == TRC_CAT_NCCL)
        return ANA_HVD_NCCL;
    return strncmp(call->name, "gloo::", 6) == 0 ? ANA_HVD_GLOO : ANA_HVD_MPI;
}

void hvd_carry(struct ana_hvd_set *set, const struct trc_call *call, const struct trc_sig *sig)
{
    const bool nccl = call->opclass == TRC_OP_NCCL_COLL,
               mpi = trc_opclass_category(call->opclass) == TRC_CAT_COLLECTIVE;
    if (!mpi && !nccl)
        return;
    struct ana_hvd_carried *by = &set->by[hvd_library_of(call)];
    by->operations++;
    if (sig->sent != TRC_BYTES_UNKNOWN &&
        (call->opclass == TRC_OP_ALLREDUCE || call->opclass == TRC_OP_REDUCE_SCATTER ||
         strncmp(call->name, "ncclAllReduce", 13) == 0 || strncmp(call->name, "ncclReduceScatter", 17) == 0))
        by->reduced += sig->sent;
}

/* Bytes of all tensors that members with a file have reduced. */
static double agreed_bytes(const struct ana_hvd_set *set)
{
    double bytes = 0, ranks = 0;
    for (size_t m = 0; m < set->ranks; m++)
        ranks += set->rank[m].index != SIZE_MAX;
    for (size_t i = 0; i < set->tensors; i++) {
        const struct ana_hvd_tensor *t = &set->tensor[i];
        if ((t->op == ANA_HVD_ALLREDUCE || t->op == ANA_HVD_REDUCESCATTER) && (unsigned)t->dtype < HVD_TYPES)
            bytes += (double)t->done * (double)t->elements * hvd_types[t->dtype].bytes * ranks;
    }
    return bytes;
}

struct ana_hvd_gradients ana_hvd_gradients(const struct ana_hvd_set *set, size_t n)
{
    struct ana_hvd_gradients all = {.rounds_per_s = NAN};
    double rounds[ANA_HVD_NOT_MPI] = {0};
    int64_t longest_ns = 0;
    for (size_t i = 0; i < n; i++) {
        double seen = 0, agreed = agreed_bytes(&set[i]);
        for (int k = ANA_HVD_MPI; k < ANA_HVD_NOT_MPI; k++) {
            seen += (double)set[i].by[k].reduced;
            all.by[k] += (double)set[i].by[k].reduced;
            rounds[k] += (double)set[i].by[k].rounds;
        }
        if (agreed - seen > SLACK * agreed) {
            all.unseen += agreed - seen;
            all.nccl |= set[i].nccl_named;
        }
        longest_ns = set[i].rounds_ns > longest_ns ? set[i].rounds_ns : longest_ns;
    }
    double sum = all.unseen, count = 0;
    for (int k = ANA_HVD_MPI; k < ANA_HVD_NOT_MPI; k++) {
        sum += all.by[k];
        count += rounds[k];
        if (rounds[k] > rounds[all.control])
            all.control = (enum ana_hvd_library)k;
    }
    all.bytes = sum;
    if (longest_ns > 0)
        all.rounds_per_s = count / ((double)longest_ns / 1e9);
    return all;
}

void hvd_find_library(struct ana_hvd_set *set)
{
    const struct ana_hvd_gradients of = ana_hvd_gradients(set, 1);
    const enum ana_hvd_library hidden = set->nccl_named ? ANA_HVD_NCCL : ANA_HVD_NOT_MPI;
    double most = of.unseen;
    set->library = most > 0 ? hidden : ANA_HVD_NONE;
    for (int k = ANA_HVD_MPI; k < ANA_HVD_NOT_MPI; k++)
        if (of.by[k] > most) {
            most = of.by[k];
            set->library = (enum ana_hvd_library)k;
        }
    if (set->library != ANA_HVD_NONE)
        return;
    for (int k = ANA_HVD_MPI; k < ANA_HVD_NOT_MPI; k++) /* nothing was reduced */
        if (set->by[k].operations > set->by[set->library].operations)
            set->library = (enum ana_hvd_library)k;
    if (set->library == ANA_HVD_NONE && (set->nccl_named || set->agreed_ns != ANA_HVD_NEVER))
        set->library = hidden;
}

bool ana_hvd_gradients_words(const struct ana_hvd *hvd, bool utf8, char *out, size_t size)
{
    static const char *const name[ANA_HVD_NOT_MPI + 1] = {NULL, "MPI", "Gloo", "NCCL"};
    const struct ana_hvd_gradients of = ana_hvd_gradients(hvd->set, hvd->sets);
    char number[ANA_TEXT];
    size_t at = 0, ranks = 0, ways = of.unseen > 0;
    bool lost = false;
    for (size_t i = 0; i < hvd->sets; i++) {
        ranks = hvd->set[i].ranks > ranks ? hvd->set[i].ranks : ranks;
        lost |= hvd->set[i].names_lost;
    }
    for (int k = ANA_HVD_MPI; k < ANA_HVD_NOT_MPI; k++)
        ways += of.by[k] > 0;
    if (ways == 0)
        return false;
    ana_append(out, size, &at, "%s%s of gradients (%zu ranks%s)", ways > 1 ? "of " : "",
               ana_number(number, sizeof number, ANA_BYTES, of.bytes, utf8), ranks,
               lost ? ", in the records that are left" : "");
    const char *between = ways > 1 ? " " : " went", *after = ways > 1 ? " went" : "";
    for (int k = ANA_HVD_NCCL; k >= ANA_HVD_NONE; k--) { /* NONE: the rest */
        const double bytes = k == ANA_HVD_NONE ? of.unseen : of.by[k];
        if (bytes <= 0)
            continue;
        ana_append(out, size, &at, "%s", between);
        if (ways > 1)
            ana_append(out, size, &at, "%s%s", ana_number(number, sizeof number, ANA_BYTES, bytes, utf8), after);
        ana_append(out, size, &at, " by %s", k == ANA_HVD_NONE ? "calls that were not seen" : name[k]);
        if (k == ANA_HVD_NONE && of.nccl)
            ana_append(out, size, &at, " (NCCL: its communicator was named)");
        between = " and ";
        after = "";
    }
    if (of.control != ANA_HVD_NONE && of.rounds_per_s > 0)
        ana_append(out, size, &at, "; control by %s, %.*f small collectives a second", name[of.control],
                   of.rounds_per_s < 10 ? 1 : 0, of.rounds_per_s);
    return true;
}
