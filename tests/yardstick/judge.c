/* Is a verdict right.
 *
 * Of a program that hangs or is broken: trouble is said, and all named ranks may be blamed; but in the first 31 s of
 * a hang it is enough that nothing wrong is said.
 *
 * Of one that moves: it is not called hung or aborted, and nobody is named, with these exceptions.  A rank that
 * computes or sleeps for long may be waited for.  It may be called the possible or likely cause of a
 * hang where nothing tells it from one that never comes back: it is idle, or the processes are gone.  A part of a
 * program with a fault may stand already: those to blame may be named; of two that met in different collectives both,
 * since one that has come tells nothing.  Of two ranks that are killed one after the other either may have been the
 * first to die; and where a rank was killed alone shortly before all were, nobody need be named.
 */
#include "tests/yardstick/judge.h"

#define LONG_NS INT64_C(1000000000)
#define HANG_NS (31 * LONG_NS) /* shorter standstills need not be called hung */

static bool moves_after(const struct program *p, const struct run *run, int rank, int64_t ns)
{
    for (int a = rank; a < p->actors; a += p->ranks) {
        const struct done *last = &run->log[a][run->done[a] - 1];
        if (run->done[a] && (last->begin > ns || (last->end != NEVER && last->end > ns)))
            return true;
    }
    return false;
}

enum truth truth_at(const struct program *p, const struct run *run, int64_t ns)
{
    bool moves = run->finished, gone = false;
    for (int r = 0; r < p->ranks; r++) {
        moves |= moves_after(p, run, r, ns);
        gone |= run->gone[r] <= ns;
        if (run->gone[r] <= ns && (run->ended_all || ns - run->gone[r] >= LONG_NS))
            return BROKEN;
    }
    return moves ? MOVES : gone ? BROKEN : HANGS;
}

/* Whether a thread of the rank stands for ever, at `ns` already. */
static bool stands_at(const struct program *p, const struct run *run, int rank, int64_t ns)
{
    for (int a = rank; a < p->actors; a += p->ranks) {
        const struct done *last = &run->log[a][run->done[a] - 1];
        if (run->done[a] && last->begin <= ns && last->end == NEVER)
            return true;
    }
    return false;
}

/* Whether the rank is outside MPI for long already, at `ns`. */
static bool pauses_at(const struct program *p, const struct run *run, int rank, int64_t ns, bool idle)
{
    for (int a = rank; a < p->actors; a += p->ranks)
        for (int i = 0; i < run->done[a]; i++) {
            const struct done *done = &run->log[a][i];
            const struct op *op = &p->actor[a].op[done->op];
            if (done->begin <= ns && done->end > ns && ns - done->begin >= LONG_NS &&
                (op->kind == OP_COMPUTE || op->kind == OP_STUCK) && (op->idle || !idle))
                return true;
        }
    return false;
}

static enum answer judge_moving(const struct program *p, const struct run *run, const struct instant *at,
                                const struct ana_job *job, const struct ana_verdict *v)
{
    bool hung = v->state == ANA_VERDICT_HUNG, aborted = v->state == ANA_VERDICT_ABORTED;
    bool excused = v->culprits > 0, faulty = excused, moves = false, one = false;
    bool mismatch = v->id == ANA_CLASS_MISMATCHED;
    if (v->state == ANA_VERDICT_HEALTHY ||
        (v->state != ANA_VERDICT_SLOW && v->state != ANA_VERDICT_WAITING && !hung && v->culprits + v->absents == 0))
        return RIGHT;
    for (size_t i = 0; i < v->culprits; i++) {
        int rank = ana_job_rank(job, v->culprit[i])->rank;
        bool slow = pauses_at(p, run, rank, at->ns, at->moment == LIVE && hung);
        faulty &= p->blame[rank];
        excused &= p->blame[rank] || (slow && v->confidence != ANA_PROVEN);
        moves |= !stands_at(p, run, rank, at->ns) && !(mismatch && p->blame[rank]);
        one |= p->blame[rank];
    }
    if (hung && v->confidence == ANA_PROVEN && moves && at->moment != ONE_BY_ONE)
        return PROVEN_MOVES;
    bool either = at->moment == ONE_BY_ONE && p->ranks == 2 && v->confidence != ANA_PROVEN;
    either |= mismatch && one && v->culprits == 2;
    return faulty || either || (excused && !aborted) ? RIGHT : FALSE_ALARM;
}

/* Since when nothing has moved, at `ns`. */
static int64_t stood_ns(const struct program *p, const struct run *run, int64_t ns)
{
    int64_t last = 0;
    for (int a = 0; a < p->actors; a++) {
        const struct done *done = &run->log[a][run->done[a] - 1];
        last = run->done[a] && done->begin > last ? done->begin : last;
    }
    return ns - last;
}

/* Whether a rank that was killed alone and the others ended so close to each other that heartbeats do not tell. */
static bool is_too_close(const struct program *p, const struct run *run, const struct instant *at)
{
    int64_t first = INT64_MAX;
    for (int r = 0; r < p->ranks; r++)
        first = run->gone[r] < first ? run->gone[r] : first;
    return p->fault == FAULT_KILLED && at->ns - first < (p->ranks == 2 ? 10 : 1) * LONG_NS;
}

enum answer judge(const struct program *p, const struct run *run, const struct instant *at, const struct ana_job *job,
                  const struct ana_verdict *v, bool *proven_wrong)
{
    enum answer answer = RIGHT;
    bool named = v->culprits + v->absents > 0;
    size_t right = 0;
    for (size_t i = 0; i < v->culprits; i++)
        right += p->blame[ana_job_rank(job, v->culprit[i])->rank];
    bool seen = v->state == ANA_VERDICT_HUNG || (at->truth == BROKEN && v->state == ANA_VERDICT_ABORTED) ||
                (p->fault == FAULT_BUSY && v->state == ANA_VERDICT_WAITING) || v->id == ANA_CLASS_MISMATCHED;
    if (at->truth == MOVES)
        answer = judge_moving(p, run, at, job, v);
    else if (!seen)
        answer = at->truth == HANGS && right == v->culprits && stood_ns(p, run, at->ns) < HANG_NS ? RIGHT : MISSED;
    else if (right < v->culprits)
        answer = right ? MORE_NAMES : OTHER_NAMES;
    else if (!named && !is_too_close(p, run, at))
        answer = NO_NAME;
    *proven_wrong = v->confidence == ANA_PROVEN && v->state != ANA_VERDICT_HEALTHY && v->state != ANA_VERDICT_UNKNOWN &&
                    (answer == OTHER_NAMES || answer == FALSE_ALARM || answer == PROVEN_MOVES);
    return answer;
}
