/* Not a program under test: says which receive was found for each send of a trace folder.  A line for each call that
 * sends a message and receives none, in the order of time ("0 sent 64 tag 7 -> 1 MPI_Recv #0", #n = the n-th call of
 * that name on its rank), and last "messages N, unmatched N N". */
#include "trace/timeline/state_at.h"
#include "trace/session/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static unsigned nth(struct ana_job *job, size_t rank, const struct ana_state_at *call)
{
    unsigned n = 0;
    struct ana_state_at m;
    for (int64_t at = INT64_MIN, next; (next = ana_step(job, rank, at, 1)) != at && next < call->begin_ns; at = next)
        n += ana_state_at(job, rank, next, &m) && m.call && strcmp(m.call, call->call) == 0;
    return n;
}

int main(int argc, char **argv)
{
    char error[256];
    struct ana_job *job;
    struct ana_summary s;
    const char *folder = argc > 1 ? argv[1] : ".";
    if (ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK)
        return puts(error), 2;
    ana_job_advance(job, 0);
    for (size_t r = 0; r < ana_job_info(job).ranks; r++) {
        struct ana_state_at m, other;
        for (int64_t at = INT64_MIN, next; (next = ana_step(job, r, at, 1)) != at; at = next) {
            uint32_t both = TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN;
            if (!ana_state_at(job, r, next, &m) || (m.sig.flags & both) != TRC_SIG_P2P_OUT)
                continue;
            struct ana_state_at own = m;
            printf("%zu sent %" PRIu64 " tag %" PRId32 " ->", r, own.sig.sent, own.sig.tag);
            if (own.has_other_end && ana_state_at(job, own.other_index, own.other_begin_ns, &other))
                printf(" %zu %s #%u\n", own.other_index, other.call, nth(job, own.other_index, &other));
            else
                puts(" nobody");
        }
    }
    if (ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) != TRC_OK)
        return 2;
    printf("messages %" PRIu64 ", unmatched %" PRIu64 " %" PRIu64 "\n", s.message_latency.count, s.unmatched_sends,
           s.unmatched_receives);
    ana_summary_free(&s);
    ana_job_close(job);
    return 0;
}
