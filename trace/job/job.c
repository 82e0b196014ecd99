#include "trace/job/job_impl.h"
#include "trace/job/unseen.h"
#include "trace/util/now.h"
#include "trace/util/rows.h"
#include "trace/util/grow.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ana_state_name(enum ana_state state)
{
    static const char *const name[] = {"running", "finished", "aborted", "hung"};
    TRC_ASSERT_ROWS(name, ANA_HUNG);
    return name[state];
}

const char *ana_rank_state_name(enum ana_rank_state state)
{
    static const char *const name[] = {"run", "wait", "done", "abort", "dead", "off", "?"};
    TRC_ASSERT_ROWS(name, ANA_RANK_UNKNOWN);
    return name[state];
}

/* ---- the state of the whole ------------------------------------------------------------------------------------- */

static void set_state(struct ana_job *job)
{
    bool alive = false, aborted = false, done = false, waits = false;
    uint64_t progress = 0;
    int64_t last_end = INT64_MIN;
    job->begin_ns = INT64_MAX;
    job->end_ns = INT64_MIN;
    job->horizon_ns = INT64_MAX;
    for (size_t i = 0; i < job->count; i++) {
        const struct ana_process *p = &job->process[i];
        alive |= p->alive;
        if (p->alive && p->complete_ns < job->horizon_ns)
            job->horizon_ns = p->complete_ns;
        aborted |= p->rank.state == ANA_RANK_ABORTED || p->rank.state == ANA_RANK_DEAD;
        done |= trc_head(p->rank.file)->state == TRC_STATE_FINALIZED;
        waits |= p->rank.state == ANA_RANK_IN_MPI;
        progress += p->progress;
        if (p->rank.begin_ns < job->begin_ns)
            job->begin_ns = p->rank.begin_ns;
        if (p->rank.end_ns > job->end_ns)
            job->end_ns = p->rank.end_ns;
        if (p->last_end_ns > last_end)
            last_end = p->last_end_ns;
    }
    if (last_end == INT64_MIN)
        last_end = job->begin_ns;
    /* Polls keep last_end moving; then it counts since when no progress was seen. */
    if (progress != job->progress || job->progress_ns == INT64_MIN)
        job->progress_ns = last_end;
    job->progress = progress;
    int64_t since = job->progress_ns < last_end ? job->progress_ns : last_end;
    job->quiet_ns = alive ? job->end_ns - since : -1;
    if (aborted)
        job->state = ANA_ABORTED;
    else if (alive)
        job->state = waits && job->quiet_ns >= ANA_HUNG_NS ? ANA_HUNG : ANA_RUNNING;
    else
        job->state = done ? ANA_FINISHED : ANA_ABORTED;
}

static void add_warning(struct ana_job *job, const char *path, const char *text)
{
    size_t n = strlen(path) + strlen(text) + 3;
    char *line = ana_grow_alone(&job->warning, job->warnings, sizeof *job->warning) ? malloc(n) : NULL;
    if (!line)
        return;
    snprintf(line, n, "%s%s%s", path, *path ? ": " : "", text);
    job->warning[job->warnings++] = line;
}

static void forget_warnings(struct ana_job *job)
{
    for (size_t i = 0; i < job->warnings; i++)
        free(job->warning[i]);
    free(job->warning);
    job->warning = NULL;
    job->warnings = 0;
}

/* Warns of processes that have another MPI library beside the recorded one. */
static void warn_of_other_mpi(struct ana_job *job)
{
    const char *path = NULL;
    size_t n = 0;
    for (size_t i = 0; i < job->count; i++) {
        const struct trc_file *file = job->process[i].rank.file;
        const char *other = file ? trc_fact(file, "mpi.other") : NULL;
        path = path ? path : other;
        n += other != NULL;
    }
    if (!n)
        return;
    char text[1200];
    snprintf(text, sizeof text, "%zu process%s loaded another MPI library too, whose calls are not recorded: %.1000s",
             n, n == 1 ? "" : "es", path);
    add_warning(job, "", text);
}

void ana_collect_warnings(struct ana_job *job)
{
    forget_warnings(job);
    if (job->other_jobs) {
        char text[1024];
        snprintf(text, sizeof text, "different jobs given: showing %s, left out %s (%zu file%s)",
                 job->bundle.folder[job->shown_folder], job->bundle.folder[job->other_folder], job->other_jobs,
                 job->other_jobs == 1 ? "" : "s");
        add_warning(job, "", text);
    }
    if (job->count < job->world_size) {
        char text[128];
        snprintf(text, sizeof text, "%zu of %zu ranks have no trace file here", job->world_size - job->count,
                 job->world_size);
        add_warning(job, "", text);
    }
    if (job->left_out) {
        char text[128];
        snprintf(text, sizeof text, "%zu file%s of an earlier run in the same folder left out", job->left_out,
                 job->left_out == 1 ? "" : "s");
        add_warning(job, "", text);
    }
    if (job->bundle.left_out) {
        char text[128];
        snprintf(text, sizeof text, "%zu of %zu files were not opened: somebody did not want to wait",
                 job->bundle.left_out, job->bundle.count);
        add_warning(job, "", text);
    }
    warn_of_other_mpi(job);
    if (job->pass.tally.out_of_memory)
        add_warning(job, "", "memory ran out while events were read: sums and timelines lack some of them");
    for (size_t i = 0; i < job->bundle.places; i++)
        if (job->bundle.error[i])
            add_warning(job, "", job->bundle.error[i]);
    const char *complaint;
    for (size_t i = 0; (complaint = ana_watch_complaint(&job->bundle.watch, i)) != NULL; i++)
        if (*complaint)
            add_warning(job, "", complaint);
    for (size_t i = 0; i < job->bundle.count; i++) {
        const struct ana_bundle_file *f = &job->bundle.files[i];
        if (!f->file && !f->left_out)
            add_warning(job, "", f->error ? f->error : "out of memory");
        for (size_t d = 0; f->file && trc_damage(f->file, d); d++)
            add_warning(job, f->path, trc_damage(f->file, d));
        if (f->file && trc_head(f->file)->error[0])
            add_warning(job, f->path, trc_head(f->file)->error);
    }
    for (size_t i = 1; i < job->count; i++)
        if (job->process[i].rank.world == job->process[i - 1].rank.world && job->process[i].rank.rank >= 0 &&
            job->process[i].rank.rank == job->process[i - 1].rank.rank)
            add_warning(job, trc_path(job->process[i].rank.file), "a second file for this rank");
        else if (job->process[i].rank.world != job->process[i - 1].rank.world &&
                 !ana_bridges_reach(job->bridges, job->process[i].rank.world) &&
                 !(trc_head(job->process[i].rank.file)->flags & TRC_HEAD_SPAWNED))
            add_warning(job, trc_path(job->process[i].rank.file),
                        "belongs to another run of MPI at the same time in the same folder");
}

/* ---- the public way in ------------------------------------------------------------------------------------------ */

bool ana_job_refresh_state(struct ana_job *job)
{
    struct ana_here here;
    bool moved = false;
    ana_here_now(&here);
    here.read_ns = job->read_ns ? job->read_ns : here.read_ns;
    for (size_t i = 0; i < job->count; i++) {
        struct ana_process *p = &job->process[i];
        enum ana_rank_state before = p->rank.state;
        ana_process_refresh(p, job->clock, i, &here);
        bool silent = p->rank.state == ANA_RANK_UNKNOWN && p->silent_ns > 0 && !p->by_pid;
        moved |= p->alive || silent || p->rank.state != before;
        if (!p->alive && p->rank.state != ANA_RANK_UNKNOWN)
            trc_set_final(p->rank.file);
    }
    set_state(job);
    job->revision++;
    job->upper->refreshed(job);
    return moved;
}

/* Whether a process is still there that has ended for MPI. */
static bool lives_on(const struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->process[i].rank.lives_on)
            return true;
    return false;
}

bool ana_job_refresh(struct ana_job *job)
{
    job->read_ns = ana_now_ns();
    bool moved = ana_bundle_scan(&job->bundle) > 0;
    moved |= ana_bundle_refresh(&job->bundle, job->at_rest && !moved);
    if (job->at_rest && !moved) {
        ana_collect_warnings(job); /* a folder may be gone */
        return false;
    }
    size_t others = job->other_jobs;
    moved |= ana_members_refresh(job);
    if (others != job->other_jobs)
        ana_members_name(job);
    for (size_t i = 0; i < job->count; i++)
        ana_clock_update_file(job->clock, i, job->process[i].rank.file);
    job->refreshes++;
    moved |= ana_job_refresh_state(job);
    for (size_t i = 0; i < job->count; i++)
        ana_number_calls(job, &job->process[i]);
    ana_collect_warnings(job);
    ana_analysis_refresh(job);
    job->at_rest = !moved && job->flushed && !lives_on(job);
    return moved;
}

enum trc_status ana_job_open_with(const struct ana_upper *upper, const struct ana_opener *opener,
                                  const char *const *folders, size_t n, struct ana_job **out, char *error,
                                  size_t error_size)
{
    struct ana_job *job = calloc(1, sizeof *job);
    if (!job || n == 0 || !ana_bundle_open(&job->bundle, folders, n)) {
        snprintf(error, error_size, "%s", n ? "out of memory" : "no trace folder named");
        free(job);
        return TRC_BAD;
    }
    static const struct trc_call unknown = {"unknown call", TRC_OP_OTHER};
    job->bundle.opener = *opener;
    ana_map_init(&job->call_by_name, sizeof(uint32_t));
    ana_map_init(&job->call_by_address, sizeof(uint32_t));
    ana_map_init(&job->comm_names, sizeof(const char *));
    ana_map_init(&job->texts, sizeof(char *));
    job->progress_ns = INT64_MIN;
    job->window = (struct ana_span){INT64_MIN, INT64_MAX};
    job->workers = opener && opener->workers ? opener->workers : 1;
    job->upper = upper;
    job->horovod = upper->horovod_new();
    job->judgement = upper->judgement_new();
    if (job->horovod && job->judgement && ana_grow_alone(&job->call, 0, sizeof *job->call)) {
        job->call[0] = (struct ana_call_name){unknown.name, unknown.opclass};
        job->calls = 1;
        ana_members_name(job);
        ana_job_refresh(job);
    }
    if (job->count) {
        *out = job;
        return TRC_OK;
    }
    const char *refused = ana_bundle_error(&job->bundle);
    char unseen[256];
    if (refused)
        snprintf(error, error_size, "%s", refused);
    else if (job->bundle.count == 0)
        snprintf(error, error_size, "%s: no trace files (*%s) here%s%s", folders[0], ANA_SUFFIX,
                 ana_unseen(folders[0], unseen, sizeof unseen) ? ": " : "", unseen);
    else
        snprintf(error, error_size, "%s: out of memory", folders[0]);
    ana_job_close(job);
    return TRC_BAD;
}

void ana_job_watch(struct ana_job *job, bool on)
{
    job->bundle.watch.on = on;
}

void ana_job_look_at(struct ana_job *job, size_t index)
{
    if (index < job->count)
        trc_want(job->process[index].rank.file);
}

void ana_job_set_name_finder(struct ana_job *job, ana_name_finder *finder)
{
    job->name_finder = finder;
}

void ana_job_set_line_finder(struct ana_job *job, ana_line_finder *finder, void *context)
{
    job->line_finder = finder;
    job->line_context = context;
    job->revision++;
}

void ana_job_lines_came(struct ana_job *job)
{
    job->revision++;
}

void ana_job_close(struct ana_job *job)
{
    if (!job)
        return;
    if (job->flushed && !job->indexed && job->upper->keep)
        job->upper->keep(job);
    ana_analysis_stop(job);
    ana_readers_free(job->readers);
    job->upper->judgement_free(job->judgement);
    job->upper->horovod_free(job->horovod);
    ana_members_forget(job);
    forget_warnings(job);
    ana_bundle_close(&job->bundle);
    ana_map_free(&job->call_by_name);
    ana_map_free(&job->call_by_address);
    ana_map_free(&job->comm_names);
    for (size_t i = 0; i < job->texts.count; i++)
        free(*(char **)ana_map_value(&job->texts, i));
    ana_map_free(&job->texts);
    free(job->call);
    free(job->host);
    free(job);
}

const char *ana_job_warning(const struct ana_job *job, size_t i)
{
    return i < job->warnings ? job->warning[i] : NULL;
}

const struct ana_rank *ana_job_rank(const struct ana_job *job, size_t index)
{
    return index < job->count ? &job->process[index].rank : NULL;
}

size_t ana_job_ranks(const struct ana_job *job)
{
    return job->count;
}

size_t ana_job_clocks(const struct ana_job *job)
{
    return job->clock ? ana_clock_domains(job->clock) : 0;
}

struct ana_job_clock ana_job_clock(const struct ana_job *job, size_t i)
{
    struct ana_clock_domain domain = ana_clock_domain(job->clock, i);
    return (struct ana_job_clock){.host = job->process[domain.first_index].host,
                                  .ranks = domain.files,
                                  .offset_s = (double)domain.offset_ns / 1e9,
                                  .realtime_s = (double)domain.realtime_ns / 1e9,
                                  .drift_ppm = domain.drift_ppm,
                                  .error_s = domain.error_ns / 1e9,
                                  .fitted = domain.fitted};
}

struct ana_job_info ana_job_info(const struct ana_job *job)
{
    if (job->count == 0) /* memory ran out while new files were taken in */
        return (struct ana_job_info){
            .name = job->name, .id = "", .batch = "", .command = "", .mpi = "", .quiet_ns = -1};
    struct ana_job_info info = {
        .name = job->name,
        .id = trc_head(job->process[0].rank.file)->job,
        .batch = "",
        .state = job->state,
        .ranks = job->count,
        .world_size = job->world_size,
        .hosts = job->hosts,
        .host = job->host,
        .command = trc_head(job->process[0].rank.file)->command,
        .mpi = job->mpi,
        .elapsed_ns = job->end_ns - job->begin_ns,
        .start_realtime_ns = INT64_MAX,
        .clock_error_s = ana_clock_worst_error_ns(job->clock) / 1e9,
        .overhead_s = NAN,
        .overhead_share = NAN,
        .quiet_ns = job->quiet_ns,
        .other_jobs = job->other_jobs,
        .generation = job->generation,
    };
    for (size_t i = 0; i < job->count; i++) {
        const struct ana_rank *r = &job->process[i].rank;
        const struct trc_head *head = trc_head(r->file);
        if (!info.batch[0]) /* it may not have reached all hosts */
            info.batch = head->batch;
        info.lost_records += head->lost_records;
        info.recycled_records += head->recycled_records;
        info.unknown_requests += head->unknown_requests;
        if ((int64_t)head->start.realtime_ns < info.start_realtime_ns)
            info.start_realtime_ns = (int64_t)head->start.realtime_ns;
        double ticks = (double)r->calls * (double)head->call_cost_q10 / 1024 + (double)head->slow_ticks;
        double cost_ns = head->call_cost_q10 ? ticks * trc_ns_per_tick(r->file) : NAN;
        info.overhead_s = fmax(info.overhead_s, cost_ns / 1e9);
        if (r->end_ns > r->begin_ns)
            info.overhead_share = fmax(info.overhead_share, cost_ns / (double)(r->end_ns - r->begin_ns));
    }
    return info;
}
