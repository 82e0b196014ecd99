/* Verdict and groups of ranks at one place, from a second of looks at a job. */
#include "tui/commands/look_impl.h"
#include "trace/util/numfmt.h"
#include "trace/util/ranges.h"

#include <string.h>

enum { MOST_LISTED = 4 };

/* Whether all members of a communicator come to a call. */
static bool is_collective(const char *call)
{
    static const char *const words[] = {
        "Barrier", "Bcast",    "educe",      "ather",     "catter",      "lltoall",   "can",
        "fence",   "Finalize", "Init",       "_all",      "Comm_create", "Comm_dup",  "Comm_split",
        "nccl",    "Win_free", "Win_create", "File_open", "File_close",  "Intercomm", "Comm_spawn"};
    for (size_t i = 0; call && i < sizeof words / sizeof *words; i++)
        if (strstr(call, words[i]) && !strstr(call, "Scancel"))
            return true;
    return false;
}

/* A set of ranks, by a question about each. */
typedef bool question(const struct tui_rank_stack *rank, const char *call);
#define QUESTION(name, answer)                                                                                         \
    static bool name(const struct tui_rank_stack *rank, const char *call)                                              \
    {                                                                                                                  \
        (void)call;                                                                                                    \
        return answer;                                                                                                 \
    }
QUESTION(is_in, tui_seen_call(rank) && strcmp(tui_seen_call(rank), call) == 0)
QUESTION(is_outside, rank->looks && !tui_seen_call(rank))
QUESTION(is_meeting, rank->looks &&is_collective(tui_seen_call(rank)))
QUESTION(is_elsewhere, rank->looks && !is_in(rank, call))
QUESTION(is_finalizing, rank->looks &&is_in(rank, "MPI_Finalize"))
QUESTION(is_beside, rank->beside)
QUESTION(is_stopped, rank->stopped)

/* Writes the ranks with the answer yes; returns their number. */
static size_t name_ranks(const struct tui_rank_stack *rank, size_t n, question *is, const char *call, char *out,
                         size_t size)
{
    struct ana_ranges ranges;
    size_t count = 0;
    ana_ranges_begin(&ranges, out, size, ANA_RANGES_MOST, true);
    for (size_t i = 0; i < n; i++)
        if (is(&rank[i], call)) {
            ana_ranges_add(&ranges, (struct ana_rank_id){0, rank[i].id.rank, (uint32_t)rank[i].id.pid});
            count++;
        }
    ana_ranges_end(&ranges);
    return count;
}

/* Writes call and place of a rank. */
static void describe(const struct tui_rank_stack *rank, char *out, size_t size)
{
    const struct tui_outside_frame *place = tui_outside_place(&rank->stack);
    const char *call = tui_seen_call(rank);
    const double used = rank->cpu_s * 100;
    char arguments[120];
    tui_seen_arguments(rank, arguments, sizeof arguments);
    int n = call ? snprintf(out, size, INSIDE, call, arguments) : snprintf(out, size, OUTSIDE, used > 100 ? 100 : used);
    if (place && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, PLACE, place->where, place->function);
}

/* The collective call that most ranks are inside, and stay in; NULL: none has two. */
static const char *find_meeting(const struct tui_rank_stack *rank, size_t n)
{
    static char best[120];
    size_t most = 1;
    for (size_t i = 0; i < n; i++) {
        char call[120];
        const char *own = tui_seen_moves(&rank[i]) ? NULL : tui_seen_call(&rank[i]);
        if (!is_collective(own))
            continue;
        snprintf(call, sizeof call, "%s", own);
        size_t count = 0;
        for (size_t k = 0; k < n; k++)
            count += !tui_seen_moves(&rank[k]) && is_in(&rank[k], call);
        if (count >= most && count > 1) { /* equal counts: the later ranks' call, since rank 0 often differs */
            most = count;
            memcpy(best, call, sizeof best);
        }
    }
    return most > 1 ? best : NULL;
}

static size_t count_ranks(const struct tui_rank_stack *rank, size_t n, question *is, const char *call)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += is(&rank[i], call);
    return count;
}

/* Writes the ranks with an answer of yes from `is`, and call and place of the first, *first.  Returns the number of
 * ranks. */
static size_t name_first(const struct tui_rank_stack *rank, size_t n, question *is, const char *call, char who[160],
                         char where[300], const struct tui_rank_stack **first)
{
    const size_t count = name_ranks(rank, n, is, call, who, 160);
    for (*first = rank; count && !is(*first, call);)
        ++*first;
    if (count)
        describe(*first, where, 300);
    return count;
}

/* Prints that ranks have not come, those with the answer yes, and the place of the first.  Others that wait for
 * messages may wait for them. */
static void print_absent(const struct tui_rank_stack *rank, size_t n, question *is, const char *meeting)
{
    char who[160], where[300];
    const struct tui_rank_stack *first = rank;
    const size_t present = count_ranks(rank, n, is_elsewhere, "") - count_ranks(rank, n, is, meeting);
    if (is == is_elsewhere)
        is = count_ranks(rank, n, is_outside, NULL)                                         ? is_outside
             : strcmp(meeting, "MPI_Finalize") && count_ranks(rank, n, is_finalizing, NULL) ? is_finalizing
                                                                                            : is;
    const size_t absent = name_first(rank, n, is, meeting, who, where, &first);
    if (!absent)
        return;
    printf(NOT_COME, who, absent == 1 ? "has" : "have", meeting ? meeting : "the messages", present, n);
    if (absent > 1)
        printf(ONE_IS, first->id.rank);
    puts(where);
}

/* Whether two ranks made the same call at the same place, with the same root and communicator. */
static bool is_same_call(const struct tui_rank_stack *a, const struct tui_rank_stack *b)
{
    char one[120], other[120];
    tui_seen_arguments(a, one, sizeof one);
    tui_seen_arguments(b, other, sizeof other);
    return tui_seen_alike(a, b) && strcmp(one, other) == 0;
}

/* Returns the largest group of ranks that made the same call, by its first member; *count: its size. */
static const struct tui_rank_stack *find_largest(const struct tui_rank_stack *rank, size_t n, size_t *count)
{
    const struct tui_rank_stack *best = NULL;
    *count = 0;
    for (size_t i = 0; i < n; i++) {
        size_t alike = 0;
        for (size_t k = 0; k < n; k++)
            alike += is_same_call(&rank[i], &rank[k]);
        if (alike > *count) {
            best = &rank[i];
            *count = alike;
        }
    }
    return best;
}

/* Prints that all ranks are inside one collective call, and the ranks that called it otherwise. */
static void print_met(const struct tui_rank_stack *rank, size_t n, const char *meeting)
{
    char who[160], where[300];
    struct ana_ranges ranges;
    size_t most;
    const struct tui_rank_stack *usual = find_largest(rank, n, &most), *first = NULL;
    ana_ranges_begin(&ranges, who, sizeof who, ANA_RANGES_MOST, true);
    for (size_t i = 0; i < n; i++)
        if (rank[i].looks && !is_same_call(&rank[i], usual)) {
            ana_ranges_add(&ranges, (struct ana_rank_id){0, rank[i].id.rank, (uint32_t)rank[i].id.pid});
            first = first ? first : &rank[i];
        }
    ana_ranges_end(&ranges);
    if (!first) {
        const bool world = strncmp(meeting, "MPI_Init", 8) == 0 || strcmp(meeting, "MPI_Finalize") == 0;
        printf(ALL_MET, n, meeting, world ? "" : COMMUNICATORS);
        return;
    }
    describe(first, where, sizeof where);
    printf(ELSEWHERE, who, meeting, tui_seen_alike(first, usual) ? "with other arguments than" : "elsewhere than", most,
           first->id.rank, where);
}

/* Prints ranks that call from another thread than the main one. */
static void print_beside(const struct tui_rank_stack *rank, size_t n)
{
    char who[160], where[300];
    const struct tui_rank_stack *first = rank;
    const size_t count = name_first(rank, n, is_beside, NULL, who, where, &first);
    printf(BESIDE, who, count == 1 ? "waits" : "wait", first->id.rank, where);
}

/* Prints ranks in collective calls that nobody else has come to, while most wait for messages. */
static void print_ahead(const struct tui_rank_stack *rank, size_t n, size_t others)
{
    char who[160], where[300];
    const struct tui_rank_stack *first = rank;
    const size_t count = name_first(rank, n, is_meeting, NULL, who, where, &first);
    printf(AHEAD, who, count == 1 ? "is" : "are", others, n, first->id.rank, where);
}

static const struct tui_rank_stack *find_process(const struct tui_rank_stack *rank, size_t n, int pid)
{
    for (size_t i = 0; i < n; i++)
        if (rank[i].id.pid == pid)
            return &rank[i];
    return NULL;
}

/* Prints the rank that has a file lock, and another one that waits for the lock, by the kernel's list.  False: none
 * waits. */
static bool print_lock(const struct tui_rank_stack *rank, size_t n)
{
    static char list[1 << 16];
    char where[300];
    int lock = 0, holder = 0;
    tui_read_file("/proc/locks", list, sizeof list);
    for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int number, pid;
        if (sscanf(line, "%d: -> %*s %*s %*s %d", &number, &pid) != 2) {
            if (sscanf(line, "%d: %*s %*s %*s %d", &number, &pid) == 2) {
                lock = number;
                holder = pid;
            }
            continue;
        }
        const struct tui_rank_stack *has = find_process(rank, n, holder), *waits = find_process(rank, n, pid);
        if (number != lock || !has || !waits)
            continue;
        describe(has, where, sizeof where);
        printf(LOCKED, has->id.rank, waits->id.rank, has->id.rank, where);
        return true;
    }
    return false;
}

/* Returns the rank whose message a rank waits for, or which is to receive its own; NULL: any, or it is not known. */
static const struct tui_rank_stack *find_partner(const struct tui_rank_stack *rank, size_t n,
                                                 const struct tui_rank_stack *of)
{
    const struct tui_outside_arguments *call = &of->stack.call;
    char known[120];
    tui_seen_arguments(of, known, sizeof known);
    if (!*known || !call->is_world || !strchr("spQ", call->partner_role))
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (rank[i].looks && rank[i].id.rank == call->partner)
            return &rank[i];
    return NULL;
}

/* Whether a rank sends what the other receives: that may be under way. */
static bool is_transfer(const struct tui_outside_arguments *a, const struct tui_outside_arguments *b)
{
    return a->partner_role != b->partner_role &&
           (a->tag == b->tag || a->tag == TUI_OUTSIDE_ANY || b->tag == TUI_OUTSIDE_ANY || !a->has_tag || !b->has_tag);
}

/* Counts and marks the ranks of a circle in which each waits for the next one's message, from `first` on; 0: there is
 * none. */
static size_t count_circle(const struct tui_rank_stack *rank, size_t n, const struct tui_rank_stack *first, bool *is_in)
{
    const struct tui_rank_stack *at = first;
    size_t count = 0;
    memset(is_in, 0, n);
    do {
        is_in[at - rank] = true;
        count++;
        at = find_partner(rank, n, at);
    } while (at && !is_in[at - rank]);
    return at == first && !(count == 2 && is_transfer(&first->stack.call, &find_partner(rank, n, first)->stack.call))
               ? count
               : 0;
}

/* Prints ranks that wait for messages from each other.  False: no circle of ranks is known. */
static bool print_circle(const struct tui_rank_stack *rank, size_t n)
{
    static bool is_in[LOOK_RANKS];
    char who[160], where[300], circle[120];
    for (size_t i = 0; i < n; i++) {
        struct ana_ranges ranges;
        const size_t count = count_circle(rank, n, &rank[i], is_in);
        const struct tui_rank_stack *at = &rank[i];
        size_t length = 0;
        if (!count)
            continue;
        ana_ranges_begin(&ranges, who, sizeof who, ANA_RANGES_MOST, true);
        for (size_t k = 0; k < n; k++)
            if (is_in[k])
                ana_ranges_add(&ranges, (struct ana_rank_id){0, rank[k].id.rank, (uint32_t)rank[k].id.pid});
        ana_ranges_end(&ranges);
        for (size_t k = 0; k <= count && k < 2 * MOST_LISTED; k++, at = find_partner(rank, n, at))
            ana_append(circle, sizeof circle, &length, "%s%d", k ? " -> " : "", at->id.rank);
        if (count >= 2 * MOST_LISTED)
            ana_append(circle, sizeof circle, &length, " -> ..");
        describe(&rank[i], where, sizeof where);
        printf(CIRCLE, who, circle, rank[i].id.rank, where);
        return true;
    }
    return false;
}

void look_print_verdict(const struct tui_rank_stack *rank, size_t n)
{
    const char *meeting = find_meeting(rank, n), *certainty = "possible";
    char who[160], where[300];
    size_t moving = 0, read = 0, inside = 0, met = 0, meeting_alone = 0;
    for (size_t i = 0; i < n; i++) {
        read += rank[i].looks > 0;
        moving += tui_seen_moves(&rank[i]);
        meeting_alone += is_meeting(&rank[i], NULL);
        inside += tui_seen_call(&rank[i]) != NULL;
        met += meeting && is_in(&rank[i], meeting);
    }
    const size_t stopped = name_ranks(rank, n, is_stopped, NULL, who, sizeof who);
    if (stopped) {
        printf(STOPPED, who, stopped == 1 ? "is" : "are");
        return;
    }
    if (read && inside + moving == 0 && rank->id.beside > n) {
        name_ranks(rank, n, is_outside, NULL, who, sizeof who);
        describe(rank, where, sizeof where);
        printf(LEFT, who, n == 1 ? "is" : "are", (int)rank->id.beside, rank->id.rank, where);
    }
    if (!read || (!inside && !moving))
        return;
    if (moving) {
        printf(MOVING, moving, n);
        if (meeting && met < read)
            print_absent(rank, n, is_elsewhere, meeting);
        return;
    }
    if (print_lock(rank, n)) {
        certainty = "likely";
    } else if (meeting && met < read) {
        certainty = "likely";
        print_absent(rank, n, is_elsewhere, meeting);
    } else if (meeting) {
        print_met(rank, n, meeting);
    } else if (inside < read && 2 * inside >= read) {
        print_absent(rank, n, is_outside, NULL);
    } else if (inside < read) {
        printf(SOME_INSIDE, inside, n);
    } else if (print_circle(rank, n)) {
        certainty = "likely";
    } else if (meeting_alone && count_ranks(rank, n, is_beside, NULL)) {
        print_beside(rank, n);
    } else if (meeting_alone && 2 * meeting_alone <= read) {
        print_ahead(rank, n, read - meeting_alone);
    } else {
        fputs(MESSAGES, stdout);
    }
    printf(CERTAINTY, certainty);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Prints the arguments of ranks in a group, which differ. */
static void print_members(const struct tui_rank_stack *rank, size_t n, size_t first)
{
    char arguments[120];
    size_t count = 0;
    for (size_t i = first; i < n; i++) {
        if (!tui_seen_alike(&rank[first], &rank[i]) || count++ >= MOST_LISTED)
            continue;
        tui_seen_arguments(&rank[i], arguments, sizeof arguments);
        printf(ONE_OF_GROUP, rank[i].id.rank, arguments);
    }
    if (count > MOST_LISTED)
        printf(MORE_OF_GROUP, count - MOST_LISTED);
}

/* Prints ranks that are at the same place, with their stack. */
static void print_group(struct tui_rank_stack *rank, size_t n, size_t first)
{
    char who[160], arguments[120];
    struct ana_ranges ranges;
    bool differ = false;
    ana_ranges_begin(&ranges, who, sizeof who, ANA_RANGES_MOST, true);
    for (size_t i = first; i < n; i++)
        if (!rank[i].shown && tui_seen_alike(&rank[first], &rank[i])) {
            ana_ranges_add(&ranges, (struct ana_rank_id){0, rank[i].id.rank, (uint32_t)rank[i].id.pid});
            rank[i].shown = true;
            differ |= !is_same_call(&rank[first], &rank[i]);
        }
    ana_ranges_end(&ranges);
    const struct tui_rank_stack *r = &rank[first];
    const char *call = tui_seen_call(r);
    tui_seen_arguments(r, arguments, sizeof arguments);
    printf(GROUP, who, call ? call : r->stack.runs ? RUNNING : IN_KERNEL, differ ? "" : arguments);
    if (differ)
        print_members(rank, n, first);
    for (size_t i = call ? r->outer + 1 : 0; i < r->stack.count; i++) {
        if (i && r->stack.frame[i].is_system && strcmp(r->stack.frame[i - 1].function, "main") == 0)
            break; /* callers of main() are of no interest */
        const struct tui_outside_frame *f = &r->stack.frame[i];
        if (f->is_system && !*f->function)
            continue;
        printf("    %s%s%s\n", f->where, *f->function ? " in " : "", f->function);
    }
}

void look_print_groups(struct tui_rank_stack *rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rank[i].looks && !rank[i].shown)
            print_group(rank, n, i);
}
