#include "trace/job/open_call.h"
#include "trace/job/job_impl.h"

struct ana_open_call ana_open_call_of(const struct ana_job *job, size_t index, size_t thread)
{
    const struct ana_rank *rank = &job->members.process[index].rank;
    const struct trc_thread *live =
        rank->counted && thread < trc_threads(rank->file) ? trc_thread(rank->file, thread) : NULL;
    const struct trc_sig *sig = live && live->inside ? trc_live_sig(rank->file, thread, live->inside) : NULL;
    if (!sig)
        return (struct ana_open_call){.begin_ns = rank->end_ns};
    int64_t begin_ns = ana_time_within(ana_clock_job_time(job->members.clock, index, live->inside_since));
    return (struct ana_open_call){
        .sig = sig,
        .call = ana_call_number_of(&job->members, index, sig->call),
        .opclass = trc_call(rank->file, sig->call)->opclass,
        .begin_ns = ana_earlier(begin_ns, rank->end_ns),
    };
}

void ana_close_accounts(struct ana_job *job)
{
    struct ana_why *why = &job->analysis.pass.why;
    ana_usage_until(why, INT64_MAX);
    for (size_t i = 0; i < job->members.count; i++) {
        const struct ana_open_call open = ana_open_call_of(job, i, ANA_MAIN_THREAD);
        ana_usage_close(why, i, open.opclass, open.sig ? open.begin_ns : INT64_MAX);
    }
}
