#include "trace/relations/bridge.h"
#include "trace/job/job_impl.h"
#include "trace/members/unseen.h"
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
    for (size_t i = 0; i < job->members.count; i++) {
        const struct trc_file *file = job->members.process[i].rank.file;
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

static void warn_of_absent(struct ana_job *job)
{
    if (job->members.count >= job->members.world_size)
        return;
    char text[256], ranks[192];
    ana_absent_words(job, ranks, sizeof ranks);
    snprintf(text, sizeof text, "no trace file here of %s", ranks);
    add_warning(job, "", text);
}

void ana_collect_warnings(struct ana_job *job)
{
    forget_warnings(job);
    if (job->members.other_jobs) {
        char text[1024];
        snprintf(text, sizeof text, "different jobs given: showing %s, left out %s (%zu file%s)",
                 job->members.bundle.folder[job->members.shown_folder],
                 job->members.bundle.folder[job->members.other_folder], job->members.other_jobs,
                 job->members.other_jobs == 1 ? "" : "s");
        add_warning(job, "", text);
    }
    warn_of_absent(job);
    if (job->members.left_out) {
        char text[128];
        snprintf(text, sizeof text, "%zu file%s of an earlier run in the same folder left out", job->members.left_out,
                 job->members.left_out == 1 ? "" : "s");
        add_warning(job, "", text);
    }
    if (job->members.bundle.left_out) {
        char text[128];
        snprintf(text, sizeof text, "%zu of %zu files were not opened: somebody did not want to wait",
                 job->members.bundle.left_out, job->members.bundle.count);
        add_warning(job, "", text);
    }
    warn_of_other_mpi(job);
    if (job->analysis.pass.tally.out_of_memory)
        add_warning(job, "", "memory ran out while events were read: sums and timelines lack some of them");
    for (size_t i = 0; i < job->members.bundle.places; i++)
        if (job->members.bundle.error[i])
            add_warning(job, "", job->members.bundle.error[i]);
    const char *complaint;
    for (size_t i = 0; (complaint = ana_watch_complaint(&job->members.bundle.watch, i)) != NULL; i++)
        if (*complaint)
            add_warning(job, "", complaint);
    for (size_t i = 0; i < job->members.bundle.count; i++) {
        const struct ana_bundle_file *f = &job->members.bundle.files[i];
        if (!f->file && !f->left_out)
            add_warning(job, "", f->error ? f->error : "out of memory");
        for (size_t d = 0; f->file && trc_damage(f->file, d); d++)
            add_warning(job, f->path, trc_damage(f->file, d));
        if (f->file && trc_head(f->file)->error[0])
            add_warning(job, f->path, trc_head(f->file)->error);
    }
    for (size_t i = 1; i < job->members.count; i++)
        if (job->members.process[i].rank.world == job->members.process[i - 1].rank.world &&
            job->members.process[i].rank.rank >= 0 &&
            job->members.process[i].rank.rank == job->members.process[i - 1].rank.rank)
            add_warning(job, trc_path(job->members.process[i].rank.file), "a second file for this rank");
        else if (job->members.process[i].rank.world != job->members.process[i - 1].rank.world &&
                 !ana_bridges_reach(job->members.bridges, job->members.process[i].rank.world) &&
                 !(trc_head(job->members.process[i].rank.file)->flags & TRC_HEAD_SPAWNED))
            add_warning(job, trc_path(job->members.process[i].rank.file),
                        "belongs to another run of MPI at the same time in the same folder");
}

/* ---- the public way in ------------------------------------------------------------------------------------------ */

/* Collects job->info from all files. */
static void update_info(struct ana_job *job)
{
    job->info = (struct ana_job_info){
        .name = job->members.name, .id = "", .batch = "", .command = "", .mpi = "", .quiet_ns = -1};
    if (job->members.count == 0) /* memory ran out while new files were taken in */
        return;
    struct ana_job_info info = {
        .name = job->members.name,
        .id = trc_head(job->members.process[0].rank.file)->job,
        .batch = "",
        .state = job->members.state,
        .ranks = job->members.count,
        .world_size = job->members.world_size,
        .hosts = job->members.hosts,
        .host = job->members.host,
        .command = trc_head(job->members.process[0].rank.file)->command,
        .mpi = job->members.mpi,
        .elapsed_ns = job->members.end_ns - job->members.begin_ns,
        .start_realtime_ns = INT64_MAX,
        .run_begin_ns = INT64_MAX,
        .clock_error_s = ana_clock_worst_error_ns(job->members.clock) / 1e9,
        .overhead_s = NAN,
        .overhead_share = NAN,
        .quiet_ns = job->members.quiet_ns,
        .other_jobs = job->members.other_jobs,
        .generation = job->members.generation,
    };
    for (size_t i = 0; i < job->members.count; i++) {
        const struct ana_rank *r = &job->members.process[i].rank;
        const struct trc_head *head = trc_head(r->file);
        if (!info.batch[0]) /* it may not have reached all hosts */
            info.batch = head->batch;
        info.lost_records += head->lost_records;
        info.recycled_records += head->recycled_records;
        info.unknown_requests += head->unknown_requests;
        if (job->members.process[i].run_begin_ns < info.run_begin_ns)
            info.run_begin_ns = job->members.process[i].run_begin_ns;
        if ((int64_t)head->start.realtime_ns < info.start_realtime_ns)
            info.start_realtime_ns = (int64_t)head->start.realtime_ns;
        double ticks = (double)r->calls * (double)head->call_cost_q10 / 1024 + (double)head->slow_ticks;
        double cost_ns = head->call_cost_q10 ? ticks * trc_ns_per_tick(r->file) : NAN;
        info.overhead_s = fmax(info.overhead_s, cost_ns / 1e9);
        if (r->end_ns > r->begin_ns)
            info.overhead_share = fmax(info.overhead_share, cost_ns / (double)(r->end_ns - r->begin_ns));
    }
    job->info = info;
}

bool ana_job_refresh_state(struct ana_job *job)
{
    bool moved = ana_members_update(&job->members);
    update_info(job);
    job->upper.refreshed(job);
    return moved;
}

/* Whether a process is still there that has ended for MPI. */
static bool lives_on(const struct ana_job *job)
{
    for (size_t i = 0; i < job->members.count; i++)
        if (job->members.process[i].rank.lives_on)
            return true;
    return false;
}

static bool refresh_members(struct ana_job *job)
{
    size_t n;
    struct ana_process *list = ana_members_changed(&job->members, &n);
    if (!list)
        return false;
    ana_analysis_stop(job);
    job->parts = (struct ana_part_source){0}; /* source of the earlier files */
    bool ok = ana_members_set(&job->members, list, n) && ana_analysis_start(job);
    if (!ok) { /* out of memory: an empty job is better than half a one */
        ana_analysis_stop(job);
        ana_members_forget(&job->members);
    }
    return ok;
}

bool ana_job_refresh(struct ana_job *job)
{
    struct ana_members *members = &job->members;
    members->read_ns = ana_now_ns();
    bool moved = ana_bundle_scan(&members->bundle) > 0;
    moved |= ana_bundle_refresh(&members->bundle, job->at_rest && !moved);
    if (job->at_rest && !moved) {
        ana_collect_warnings(job); /* a folder may be gone */
        return false;
    }
    size_t others = members->other_jobs;
    moved |= refresh_members(job);
    if (others != members->other_jobs)
        ana_members_name(members);
    for (size_t i = 0; i < members->count; i++)
        ana_clock_update_file(members->clock, i, members->process[i].rank.file);
    members->refreshes++;
    moved |= ana_job_refresh_state(job);
    ana_number_calls(members);
    ana_collect_warnings(job);
    ana_analysis_refresh(job);
    job->at_rest = !moved && job->analysis.flushed && !lives_on(job);
    return moved;
}

enum trc_status ana_job_open_with(const struct ana_upper *upper, const struct ana_opener *opener,
                                  const char *const *folders, size_t n, struct ana_job **out, char *error,
                                  size_t error_size)
{
    struct ana_job *job = calloc(1, sizeof *job);
    if (!job || n == 0 || !ana_members_open(&job->members, opener, folders, n)) {
        snprintf(error, error_size, "%s", n ? "out of memory" : "no trace folder named");
        free(job);
        return TRC_BAD;
    }
    job->analysis.window = (struct ana_span){INT64_MIN, INT64_MAX};
    job->workers = opener->workers ? opener->workers : 1;
    job->upper = *upper;
    job->horovod = upper->horovod_new();
    job->judgement = upper->judgement_new();
    if (job->horovod && job->judgement) {
        ana_members_name(&job->members);
        ana_job_refresh(job);
    }
    if (job->members.count) {
        *out = job;
        return TRC_OK;
    }
    const char *refused = ana_bundle_error(&job->members.bundle);
    char unseen[256];
    if (refused)
        snprintf(error, error_size, "%s", refused);
    else if (job->members.bundle.count == 0)
        snprintf(error, error_size, "%s: no trace files (*%s) here%s%s", folders[0], ANA_SUFFIX,
                 ana_unseen(folders[0], unseen, sizeof unseen) ? ": " : "", unseen);
    else
        snprintf(error, error_size, "%s: out of memory", folders[0]);
    ana_job_close(job);
    return TRC_BAD;
}

struct ana_members *ana_job_members(const struct ana_job *job)
{
    return (struct ana_members *)&job->members;
}

struct ana_analysis *ana_job_analysis(const struct ana_job *job)
{
    return (struct ana_analysis *)&job->analysis;
}

struct ana_time_range *ana_job_range(const struct ana_job *job)
{
    return (struct ana_time_range *)&job->range;
}

const struct ana_upper *ana_job_upper(const struct ana_job *job)
{
    return &job->upper;
}

struct ana_hvd_state *ana_job_hvd_state(const struct ana_job *job)
{
    return job->horovod;
}

struct ana_judgement *ana_job_judgement(const struct ana_job *job)
{
    return job->judgement;
}

void ana_job_watch(struct ana_job *job, bool on)
{
    job->members.bundle.watch.on = on;
}

void ana_job_request_rank(struct ana_job *job, size_t index)
{
    if (index < job->members.count)
        trc_want(job->members.process[index].rank.file);
}

void ana_job_set_name_finder(struct ana_job *job, ana_name_finder *finder)
{
    job->name_finder = finder;
}

void ana_job_set_line_finder(struct ana_job *job, ana_line_finder *finder, void *context)
{
    job->line_finder = finder;
    job->line_context = context;
    job->members.revision++;
}

void ana_job_lines_changed(struct ana_job *job)
{
    job->members.revision++;
}

void ana_job_close(struct ana_job *job)
{
    if (!job)
        return;
    if (job->analysis.flushed && !job->analysis.indexed && job->upper.archive)
        job->upper.archive(job);
    ana_analysis_stop(job);
    ana_readers_free(job->readers);
    job->upper.judgement_free(job->judgement);
    job->upper.horovod_free(job->horovod);
    forget_warnings(job);
    ana_members_close(&job->members);
    free(job);
}

const char *ana_job_warning(const struct ana_job *job, size_t i)
{
    return i < job->warnings ? job->warning[i] : NULL;
}

const struct ana_rank *ana_job_rank(const struct ana_job *job, size_t index)
{
    return index < job->members.count ? &job->members.process[index].rank : NULL;
}

size_t ana_job_ranks(const struct ana_job *job)
{
    return job->members.count;
}

size_t ana_job_clocks(const struct ana_job *job)
{
    return job->members.clock ? ana_clock_domains(job->members.clock) : 0;
}

struct ana_job_clock ana_job_clock(const struct ana_job *job, size_t i)
{
    struct ana_clock_domain domain = ana_clock_domain(job->members.clock, i);
    return (struct ana_job_clock){.host = job->members.process[domain.first_index].host,
                                  .ranks = domain.files,
                                  .offset_s = (double)domain.offset_ns / 1e9,
                                  .realtime_s = (double)domain.realtime_ns / 1e9,
                                  .drift_ppm = domain.drift_ppm,
                                  .error_s = domain.error_ns / 1e9,
                                  .fitted = domain.fitted};
}

struct ana_job_info ana_job_info(const struct ana_job *job)
{
    struct ana_job_info info = job->info;
    info.state = job->members.hangs ? ANA_HUNG : info.state;
    return info;
}
