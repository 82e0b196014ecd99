/* The walk that all formats are written in, and the file that takes its name when it is complete. */
#include "trace/export/export_impl.h"
#include "trace/summary/summary.h"
#include "trace/util/mode.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ana_export_sink *const sinks[] = {
#define EXPORT(name) &ana_export_##name,
#include "trace/export/formats.def"
};

const struct ana_export_format *ana_export_format(size_t i)
{
    return i < sizeof sinks / sizeof *sinks ? &sinks[i]->is : NULL;
}

static const struct ana_export_sink *sink_of(const char *name)
{
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++)
        if (strcmp(sinks[i]->is.name, name) == 0)
            return sinks[i];
    return NULL;
}

const struct ana_export_format *ana_export_format_of(const char *name)
{
    const struct ana_export_sink *sink = sink_of(name);
    return sink ? &sink->is : NULL;
}

void ana_export_default(const struct ana_job *job, const struct ana_export_format *format, char *out, size_t size)
{
    const char *name = ana_job_info(job).name;
    snprintf(out, size, "hpctop-%s.%s", name[0] ? name : "job", format->suffix);
    for (char *c = out; *c; c++)
        *c = *c == '/' ? '_' : *c;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* Notes where a thread is, after its event was written. */
static void note_place(struct ana_export_thread *thread, const struct ana_event *e, enum ana_export_what what)
{
    if (what == ANA_EXPORT_CALL || what == ANA_EXPORT_POLL || what == ANA_EXPORT_DEVICE)
        thread->until_ns = e->end_ns > thread->until_ns ? e->end_ns : thread->until_ns;
    if (what != ANA_EXPORT_REGION)
        return;
    if (e->kind == TRC_RECORD_END)
        trc_regions_leave(&thread->open, (uint32_t)e->sequence);
    else if (e->kind == TRC_RECORD_BEGIN)
        trc_regions_enter(&thread->open, (uint32_t)e->sequence);
}

static void pass_event(void *user, const struct ana_event *e)
{
    struct ana_exporting *x = user;
    if (e->thread >= ana_export_threads(x, e->index))
        return; /* it came after the walk began */
    struct ana_export_thread *thread = &x->thread[x->first[e->index] + e->thread];
    x->sink->event(x, thread, e);
    note_place(thread, e, ana_export_what(e));
}

static void pass_message(void *user, const struct ana_message *message)
{
    struct ana_exporting *x = user;
    x->sink->message(x, message);
}

static void pass_instance(void *user, const struct ana_instance *instance)
{
    struct ana_exporting *x = user;
    x->sink->instance(x, instance);
}

static bool pass_progress(void *user, double share)
{
    struct ana_exporting *x = user;
    bool failed = (x->out && x->out->error) || x->error[0];
    return !failed && (!x->ask->progress || x->ask->progress(x->ask->user, share));
}

static bool make_threads(struct ana_exporting *x)
{
    size_t n = 0;
    if (!(x->first = calloc(ana_job_ranks(x->job) + 1, sizeof *x->first)))
        return false;
    for (size_t i = 0; i < ana_job_ranks(x->job); i++)
        x->first[i + 1] = n += trc_threads(ana_job_rank(x->job, i)->file);
    if (!(x->thread = calloc(n + 1, sizeof *x->thread)))
        return false;
    for (size_t i = 0; i < ana_job_ranks(x->job); i++)
        for (size_t t = 0; t < ana_export_threads(x, i); t++) {
            x->thread[x->first[i] + t].until_ns = INT64_MIN;
            x->thread[x->first[i] + t].is_stream = trc_is_stream(ana_job_rank(x->job, i)->file, t);
        }
    return true;
}

/* Names all communicators, since a message only says their identity. */
static void name_comms(struct ana_exporting *x)
{
    const struct trc_comm *comm;
    for (size_t i = 0; i < ana_job_ranks(x->job); i++)
        for (size_t k = 0; (comm = trc_comm_at(ana_job_rank(x->job, i)->file, k, &(uint64_t){0})); k++)
            ana_export_comm(x, ana_comm_identity(x->job, i, comm), comm);
}

/* The sums of the part that is asked for.  False: out of memory. */
static bool summarize(struct ana_exporting *x, struct ana_summary *summary)
{
    const struct ana_selection *part = &x->ask->part;
    if (x->sink->wants == ANA_EXPORT_COUNTERS && ana_of_all_time(part) && !part->ranks)
        return ana_summarize(x->job, *part, summary) == TRC_OK;
    if (!ana_of_all_time(part) && !ana_job_set_window(x->job, part->begin_ns, part->end_ns))
        return false;
    return ana_summarize_all(x->job, *part, summary) == TRC_OK;
}

static void walk_job(struct ana_exporting *x)
{
    struct ana_summary summary;
    struct ana_walk walk = {x, pass_event, x->sink->message ? pass_message : NULL,
                            x->sink->instance ? pass_instance : NULL, pass_progress};
    name_comms(x);
    if (!make_threads(x) || (x->sink->wants && !summarize(x, &summary))) {
        ana_export_fail(x, "out of memory");
        return;
    }
    x->summary = x->sink->wants ? &summary : NULL;
    ana_clocks_settle(x->job);
    if (x->sink->begin(x) && !x->error[0] && x->sink->event && !ana_job_walk(x->job, &x->ask->part, &walk) &&
        !(x->out && x->out->error))
        ana_export_fail(x, "out of memory, or it was ended");
    if (x->sink->finish)
        x->sink->finish(x);
    if (x->sink->wants)
        ana_summary_free(&summary);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Removes a folder of files, and folders of files in it. */
static void remove_folder(const char *path, int depth)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    char name[8192];
    while (folder && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (unlink(name) != 0 && depth > 0)
            remove_folder(name, depth - 1);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

/* Whether a folder holds only files that exports write: leftovers of a killed export. */
static bool is_left_over(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool ours = folder;
    while (ours && (entry = readdir(folder))) {
        const char *suffix = strrchr(entry->d_name, '.');
        ours =
            entry->d_name[0] == '.' || strncmp(entry->d_name, "traces", 6) == 0 || (suffix && !strcmp(suffix, ".csv"));
    }
    if (folder)
        closedir(folder);
    return ours;
}

/* Makes an empty folder or file at x->path, that will be called `out`.  False: it was not made, so that it must not be
 * removed. */
static bool make_part(struct ana_exporting *x, const char *out)
{
    struct stat there;
    if (stat(out, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return ana_export_fail(x, "%s is there already, and is no file", out); /* a device would be replaced */
    if (x->sink->is.is_folder) {
        if (unlink(x->path) != 0 && is_left_over(x->path))
            remove_folder(x->path, 2);
        if (mkdir(x->path, ana_mode_of(x->path) == 0600 ? 0700 : 0777) == 0)
            return true;
        ana_export_fail(x, "cannot make %s: %s", x->path, strerror(errno));
        return false;
    }
    x->out = ana_out_open(x->path);
    if (!x->out || x->out->error)
        ana_export_fail(x, "cannot make %s: %s", x->path, strerror(x->out ? x->out->error : ENOMEM));
    return x->out && !x->out->error;
}

static void copy_name(struct ana_exporting *x, const char *out)
{
    int error = ana_out_close(x->out);
    if (error)
        ana_export_fail(x, "cannot write %s: %s", out, strerror(error));
    if (!x->error[0] && rename(x->path, out) != 0)
        ana_export_fail(x, errno == ENOTEMPTY || errno == EEXIST ? "%s is there already: %s" : "cannot make %s: %s",
                        out, strerror(errno));
    if (x->error[0] && unlink(x->path) != 0)
        remove_folder(x->path, 2);
}

bool ana_export(struct ana_job *job, const struct ana_export *ask, char *error, size_t size)
{
    struct ana_exporting x = {.job = job, .ask = ask, .sink = sink_of(ask->format)};
    char out[4000];
    ana_map_init(&x.comms, sizeof(struct ana_export_comm));
    ana_map_init(&x.sites, sizeof(struct ana_export_site));
    snprintf(out, sizeof out, "%s", ask->out);
    for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
        out[n - 1] = 0;
    snprintf(x.path, sizeof x.path, "%s.part", out);
    bool made = make_part(&x, out);
    if (made)
        walk_job(&x);
    if (made)
        copy_name(&x, out);
    else
        ana_out_close(x.out);
    ana_map_free(&x.comms);
    for (size_t i = 0; i < x.sites.count; i++)
        free(((struct ana_export_site *)ana_map_value(&x.sites, i))->path);
    ana_map_free(&x.sites);
    free(x.thread);
    free(x.first);
    snprintf(error, size, "%s", x.error);
    return !x.error[0];
}
