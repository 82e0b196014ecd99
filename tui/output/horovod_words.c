#include "tui/output/horovod_words.h"
#include "tui/output/sentences_impl.h"
#include "trace/util/trouble.h"
#include "trace/util/rows.h"

#include "trace/util/numfmt.h"
#include <stdio.h>

static const char *const library_name[] = {"none seen", "MPI", "Gloo", "NCCL (inferred: its communicator was named)",
                                           "not MPI: NCCL or Gloo (inferred: agreed tensors, no MPI operation)"};
TRC_ASSERT_ROWS(library_name, ANA_HVD_NOT_MPI);

const struct tui_hvd_look tui_hvd_looks[TUI_HVD_STATES] = {
#define STATE(id, character, style, word, help) [TUI_HVD_##id] = {character, style, word, help},
#include "tui/output/horovod_state.def"
};

bool tui_hvd_operating(const struct ana_hvd_set *set)
{
    for (size_t m = 0; m < set->ranks; m++)
        if (set->rank[m].phase == ANA_HVD_OPERATION)
            return true;
    return false;
}

enum tui_hvd_state tui_hvd_state(const struct ana_hvd_set *set, const struct ana_hvd_tensor *tensor, size_t member,
                                 bool operating)
{
    static const enum tui_hvd_state pending[] = {[ANA_HVD_NO] = TUI_HVD_MISSING,
                                                 [ANA_HVD_YES] = TUI_HVD_SUBMITTED,
                                                 [ANA_HVD_UNKNOWN] = TUI_HVD_UNKNOWN,
                                                 [ANA_HVD_JOINED] = TUI_HVD_JOINED};
    TRC_ASSERT_ROWS(pending, ANA_HVD_JOINED);
    const struct ana_hvd_rank *rank = &set->rank[member];
    if (tensor->pending)
        return pending[tensor->submitted[member]];
    if (rank->index == SIZE_MAX || !tensor->done)
        return TUI_HVD_UNKNOWN;
    if (operating && tensor->agreed_ns == set->agreed_ns) { /* the last agreement is for the running operation */
        if (rank->phase == ANA_HVD_OPERATION)
            return TUI_HVD_RUNNING;
        if (rank->phase == ANA_HVD_OUTSIDE || rank->phase == ANA_HVD_OTHER)
            return TUI_HVD_AGREED;
    }
    return TUI_HVD_DONE;
}

const char *tui_hvd_now(const struct ana_hvd_rank *rank)
{
    return rank->index == SIZE_MAX ? SAY_NO_TRACE_FILE : rank->joined ? "joined" : ana_hvd_phase_name(rank->phase);
}

double tui_hvd_bandwidth(uint64_t bytes, int64_t ns)
{
    return ns > 0 ? (double)bytes / ((double)ns / 1e9) : NAN;
}

void tui_hvd_set_line(const struct ana_hvd_set *set, size_t number, bool utf8, char *out, size_t size)
{
    snprintf(out, size, SAY_PROCESS_SET_RANKS, number, set->ranks, (unsigned long long)set->cycles,
             ANA_NUMBER(ANA_PER_S, set->cycle_rate, utf8), (unsigned long long)set->steps, set->tensors,
             set->cache ? "" : SAY_RESPONSE_CACHE_OFF);
}

void tui_hvd_data_line(const struct ana_hvd_set *set, bool utf8, char *out, size_t size)
{
    uint64_t bytes = 0;
    int64_t busy = 0;
    for (size_t m = 0; m < set->ranks; m++) {
        bytes += set->rank[m].operation_bytes;
        busy += set->rank[m].operation_ns;
    }
    const bool seen = set->library == ANA_HVD_NCCL && set->by[ANA_HVD_NCCL].operations;
    int n = snprintf(out, size, "data by %s%s", seen ? "NCCL" : library_name[set->library],
                     set->names_lost ? SAY_SOME_NAMES_WERE : "");
    if (bytes && set->library <= ANA_HVD_GLOO && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, SAY_COST_A_RANK, ANA_NUMBER(ANA_BYTES, (double)bytes, utf8),
                 ANA_NUMBER(ANA_BYTES_PER_S, tui_hvd_bandwidth(bytes, busy), utf8));
}

void tui_hvd_steps_line(const struct ana_job *job, const struct ana_hvd_set *set, bool utf8, char *out, size_t size)
{
    char words[300];
    out[0] = 0;
    if (set->steps < 2)
        return;
    const struct ana_hvd_step *slow = &set->slow[0];
    int n = snprintf(out, size, "steps: median %s", ANA_NUMBER(ANA_NS, set->usual.all, utf8));
    if ((double)(slow->end_ns - slow->from_ns) < SLOW_ITERATION * set->usual.all || n < 0 || (size_t)n >= size)
        return;
    ana_hvd_step_words(job, set, slow, words, sizeof words);
    snprintf(out + n, size - (size_t)n, "; %s", words);
}
