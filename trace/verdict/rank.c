/* The detail of a rank: what its threads are in, its stacks where there are some, and its last calls. */
#include "trace/job/inside.h"
#include "trace/verdict/verdict_impl.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LAST   8u  /* calls of a thread that are shown */
#define FRAMES 12u /* frames of a stack */

struct detail {
    char (*line)[ANA_DETAIL_LINE];
    size_t n, max;
};

static void add_line(struct detail *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_line(struct detail *s, const char *format, ...)
{
    va_list args;
    if (s->n == s->max)
        return;
    va_start(args, format);
    vsnprintf(s->line[s->n++], ANA_DETAIL_LINE, format, args);
    va_end(args);
}

static void add_stacks(const struct ana_job *job, size_t index, struct detail *s)
{
    struct ana_stacks stacks;
    if (!ana_stacks_read(job, &stacks))
        return;
    for (size_t i = 0; i < stacks.count; i++) {
        const struct ana_stack *stack = &stacks.stack[i];
        if (stack->index != index)
            continue;
        add_line(s, "thread %s (%u)%s%s", stack->name, stack->tid, stack->on[0] ? ": " : "", stack->on);
        for (size_t k = 0; k < stack->python_count + stack->native_count && k < FRAMES; k++) {
            char frame[160];
            bool python = k < stack->python_count;
            ana_frame_words(job, index, python ? &stack->python[k] : &stack->native[k - stack->python_count], frame,
                            sizeof frame);
            add_line(s, "    %s", frame);
        }
    }
    ana_stacks_free(&stacks);
}

/* A completed call, kept until all are read. */
struct kept {
    struct trc_sig sig;
    const struct trc_call *call;
    int64_t begin_ns, end_ns;
    uint64_t count;
};

static void add_last_calls(const struct ana_job *job, size_t index, size_t thread, struct detail *s)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[index].rank.file;
    struct trc_cursor *cursor = NULL;
    struct kept kept[LAST];
    size_t n = 0;
    uint64_t from = 0;
    for (size_t i = 0; i < trc_event_chunks(file); i++)
        if (trc_event_chunk(file, i).thread == thread)
            from = trc_event_chunk(file, i).first_ticks;
    if (!(cursor = trc_cursor_open(file, thread)))
        return;
    trc_cursor_seek(cursor, from);
    for (struct trc_record r; trc_next(cursor, &r) == TRC_OK;)
        /* Local calls show nothing of its activity: Horovod asks for the size of a type again and again. */
        if (r.sig && !(r.sig->flags & (TRC_SIG_SUB | TRC_SIG_NESTED)) &&
            trc_opclass_is(trc_call(file, r.sig->call)->opclass, TRC_FACT_WAITS))
            kept[n++ % LAST] =
                (struct kept){*r.sig, trc_call(file, r.sig->call), ana_clock_job_time(members->clock, index, r.begin),
                              ana_clock_job_time(members->clock, index, r.end), r.count};
    trc_cursor_close(cursor);
    for (size_t i = 0; i < LAST && i < n; i++) {
        const struct kept *k = &kept[(n - 1 - i) % LAST];
        char call[200], took[ANA_TEXT], ago[ANA_TEXT];
        ana_call_words(job, index, k->call->name, &k->sig, call, sizeof call);
        /* The last one from now, the others from the one behind them: of a hang all are as long ago. */
        int64_t until_ns = i ? kept[(n - i) % LAST].begin_ns : members->end_ns;
        add_line(s, "  %s %s  %s, %s%s",
                 ana_spoken(ago, sizeof ago, (double)(until_ns > k->end_ns ? until_ns - k->end_ns : 0)),
                 i ? "before that" : "ago", call, ana_spoken(took, sizeof took, (double)(k->end_ns - k->begin_ns)),
                 k->count > 1 ? " of polling" : "");
    }
}

size_t ana_rank_detail(const struct ana_job *job, size_t index, char (*line)[ANA_DETAIL_LINE], size_t max)
{
    const struct ana_members *members = ana_job_members(job);
    struct detail s = {line, 0, max};
    if (index >= members->count)
        return 0;
    const struct ana_rank *r = &members->process[index].rank;
    add_line(&s, "rank %s, pid %u on %s%s", ana_rank_label(job, index).text, r->pid, r->host ? r->host : "?",
             r->off      ? ": recording is off"
             : r->inside ? ""
                         : ": outside MPI");
    for (size_t t = 0; t < trc_threads(r->file); t++) {
        const struct trc_thread *thread = trc_thread(r->file, t);
        const struct trc_sig *sig = trc_live_sig(r->file, t, thread->inside);
        if (!thread->tid && !sig)
            continue;
        char call[200], since[ANA_TEXT] = "";
        snprintf(call, sizeof call, "%s", r->off ? "recording is off" : "outside MPI");
        if (sig && r->state != ANA_RANK_DONE) {
            ana_call_words(job, index, trc_call(r->file, sig->call)->name, sig, call, sizeof call);
            int64_t begin = ana_clock_job_time(members->clock, index, thread->inside_since);
            ana_spoken(since, sizeof since, (double)(r->end_ns > begin ? r->end_ns - begin : 0));
        }
        add_line(&s, "thread %s (%u): %s%s%s; before that:", thread->name, thread->tid, call, since[0] ? " for " : "",
                 since);
        add_last_calls(job, index, t, &s);
    }
    add_stacks(job, index, &s);
    return s.n;
}
