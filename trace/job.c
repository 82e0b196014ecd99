#include "trace/job_impl.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *ana_state_name(enum ana_state state)
{
    static const char *const name[] = {"running", "finished", "aborted", "hung"};
    return name[state];
}

const char *ana_rank_state_name(enum ana_rank_state state)
{
    static const char *const name[] = {"run", "wait", "done", "abort", "dead", "?"};
    return name[state];
}

/* ---- calls under one number in all files ----------------------------------------------------------------------------
 */

static uint64_t text_hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

uint32_t ana_call_number(struct ana_job *job, const struct trc_call *call)
{
    uint32_t *known = ana_map_find(&job->call_by_address, (uintptr_t)call, 0, 0);
    if (known)
        return *known;
    uint64_t hash = text_hash(call->name);
    uint32_t *number;
    for (uint64_t probe = 0;; probe++) {
        number = ana_map_add(&job->call_by_name, hash, probe, 0);
        if (!number)
            return 0;
        if (*number == 0 || strcmp(job->call[*number].name, call->name) == 0)
            break;
    }
    if (*number == 0) {
        struct ana_call_name *grown = realloc(job->call, (job->calls + 1) * sizeof *grown);
        if (!grown)
            return 0;
        job->call = grown;
        *number = (uint32_t)job->calls;
        job->call[job->calls++] = (struct ana_call_name){call->name, call->opclass};
    }
    uint32_t n = *number;
    if ((known = ana_map_add(&job->call_by_address, (uintptr_t)call, 0, 0)))
        *known = n;
    return n;
}

uint32_t ana_call_number_of(const struct ana_job *job, size_t index, uint32_t id)
{
    const struct ana_process *p = &job->process[index];
    return id < p->numbers ? p->number[id] : 0;
}

size_t ana_index_of_rank(const struct ana_job *job, uint32_t world, int32_t rank)
{
    if (rank < 0)
        return SIZE_MAX;
    size_t low = 0, high = job->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct ana_rank *r = &job->process[mid].rank;
        if (r->world != world ? r->world < world : (uint32_t)r->rank < (uint32_t)rank)
            low = mid + 1;
        else
            high = mid;
    }
    bool found = low < job->count && job->process[low].rank.world == world && job->process[low].rank.rank == rank;
    return found ? low : SIZE_MAX;
}

static bool number_calls(struct ana_job *job, struct ana_process *p)
{
    p->numbers = trc_calls(p->rank.file);
    p->number = calloc(p->numbers ? p->numbers : 1, sizeof *p->number);
    if (!p->number)
        return false;
    for (size_t i = 0; i < p->numbers; i++)
        p->number[i] = ana_call_number(job, trc_call(p->rank.file, (uint32_t)i));
    return true;
}

/* ---- which processes there are --------------------------------------------------------------------------------------
 */

static void forget_processes(struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        free(job->process[i].number);
    free(job->process);
    job->process = NULL;
    job->count = 0;
    ana_clock_free(job->clock);
    job->clock = NULL;
}

struct world {
    uint64_t identity, began, ended; /* by the real-time clocks; ended: the last heartbeat so far */
    bool spawned;
};

/* Worlds that were started come before those that were spawned, then by their first file. */
static int by_begin(const void *a, const void *b)
{
    const struct world *x = a, *y = b;
    if (x->spawned != y->spawned)
        return x->spawned ? 1 : -1;
    return x->began < y->began ? -1 : x->began > y->began;
}

/* The worlds of all files, sorted; an identity of 0 is not known yet and makes no world. */
static struct world *list_worlds(const struct ana_bundle *bundle, size_t *count)
{
    struct ana_map map;
    ana_map_init(&map, sizeof(struct world));
    for (size_t i = 0; i < bundle->count; i++) {
        const struct trc_head *head = bundle->files[i].file ? trc_head(bundle->files[i].file) : NULL;
        if (!head || head->world_identity == 0)
            continue;
        struct world *w = ana_map_add(&map, head->world_identity, 0, 0);
        if (!w)
            continue;
        if (w->identity == 0)
            *w = (struct world){head->world_identity, UINT64_MAX, 0, head->flags & TRC_HEAD_SPAWNED};
        if (head->start.realtime_ns < w->began)
            w->began = head->start.realtime_ns;
        if (head->start.realtime_ns > w->ended)
            w->ended = head->start.realtime_ns;
        if (head->latest.realtime_ns > w->ended)
            w->ended = head->latest.realtime_ns;
    }
    struct world *list = calloc(map.count + 1, sizeof *list);
    *count = list ? map.count : 0;
    for (size_t i = 0; i < *count; i++)
        list[i] = *(struct world *)ana_map_value(&map, i);
    if (list)
        qsort(list, *count, sizeof *list, by_begin);
    ana_map_free(&map);
    return list;
}

static int by_rank(const void *a, const void *b)
{
    const struct ana_rank *x = &((const struct ana_process *)a)->rank, *y = &((const struct ana_process *)b)->rank;
    if (x->world != y->world)
        return x->world < y->world ? -1 : 1;
    if (x->rank != y->rank)
        return (uint32_t)x->rank < (uint32_t)y->rank ? -1 : 1; /* unknown (-1) last */
    return strcmp(trc_path(x->file), trc_path(y->file));
}

/* A folder that was used before holds worlds that ended before the latest one was started: they are another job. */
static uint64_t latest_start(const struct world *world, size_t worlds)
{
    uint64_t latest = 0;
    for (size_t w = 0; w < worlds; w++)
        if (!world[w].spawned && world[w].began > latest)
            latest = world[w].began;
    return latest;
}

/* The processes of all files that can be read and belong to the job, sorted.  NULL: out of memory. */
static struct ana_process *list_processes(struct ana_job *job, size_t *count)
{
    struct ana_process *list = calloc(job->bundle.count + 1, sizeof *list);
    size_t n = 0, all;
    struct world *every = list_worlds(&job->bundle, &all), *world = every;
    uint64_t latest = latest_start(every, all);
    size_t worlds = 0;
    for (size_t w = 0; w < all; w++)
        if (every[w].ended >= latest)
            world[worlds++] = every[w];
    job->left_out = 0;
    for (size_t i = 0; list && i < job->bundle.count; i++) {
        struct trc_file *file = job->bundle.files[i].file;
        if (!file)
            continue;
        const struct trc_head *head = trc_head(file);
        size_t w = 0;
        while (w < worlds && head->world_identity && world[w].identity != head->world_identity)
            w++;
        if (w == worlds && w > 0) {
            job->left_out++;
            continue;
        }
        struct ana_process *p = &list[n++];
        p->rank.file = file;
        p->rank.rank = head->rank;
        p->rank.world = (uint32_t)w;
        snprintf(p->host, sizeof p->host, "%s", head->host);
    }
    free(every);
    if (list)
        qsort(list, n, sizeof *list, by_rank);
    *count = n;
    return list;
}

static bool same_processes(const struct ana_job *job, const struct ana_process *list, size_t n)
{
    if (n != job->count)
        return false;
    for (size_t i = 0; i < n; i++)
        if (job->process[i].rank.file != list[i].rank.file || job->process[i].rank.rank != list[i].rank.rank ||
            job->process[i].rank.world != list[i].rank.world)
            return false;
    return true;
}

/* "Open MPI v4.1.4, package: ..." -> "Open MPI 4.1.4"; "MPICH Version:\t4.0.2" -> "MPICH 4.0.2". */
static void short_mpi_name(char *out, size_t size, const char *text)
{
    size_t n = 0;
    for (const char *c = text; *c && *c != ',' && *c != '\n' && n + 1 < size; c++) {
        if (strncmp(c, "Version:", 8) == 0)
            c += 8;
        if ((*c == 'v' || *c == 'V') && c > text && c[-1] == ' ' && c[1] >= '0' && c[1] <= '9')
            continue;
        bool blank = *c == ' ' || *c == '\t';
        if (!blank || (n && out[n - 1] != ' '))
            out[n++] = blank ? ' ' : *c;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

static void name_job(struct ana_job *job)
{
    char place[PATH_MAX];
    if (!realpath(job->bundle.place[0], place))
        snprintf(place, sizeof place, "%s", job->bundle.place[0]);
    size_t n = strlen(place);
    if (n > strlen(ANA_SUFFIX) && strcmp(place + n - strlen(ANA_SUFFIX), ANA_SUFFIX) == 0) {
        char *slash = strrchr(place, '/');
        if (slash)
            *slash = 0;
    }
    for (n = strlen(place); n > 1 && place[n - 1] == '/'; n--)
        place[n - 1] = 0;
    const char *name = strrchr(place, '/') ? strrchr(place, '/') + 1 : place;
    snprintf(job->name, sizeof job->name, "%s", strncmp(name, "hpctop-", 7) == 0 && name[7] ? name + 7 : name);
}

/* What does not change while the processes are the same. */
static bool describe(struct ana_job *job)
{
    free(job->host);
    job->host = calloc(job->count + 1, sizeof *job->host);
    if (!job->host)
        return false;
    job->hosts = job->world_size = 0;
    for (size_t i = 0; i < job->count; i++) {
        struct ana_process *p = &job->process[i];
        const struct trc_head *head = trc_head(p->rank.file);
        p->rank.host = p->host;
        size_t h = 0;
        while (h < job->hosts && strcmp(job->host[h], p->host) != 0)
            h++;
        if (h == job->hosts)
            job->host[job->hosts++] = p->host;
        if (i == 0 || p->rank.world != p[-1].rank.world)
            job->world_size += head->world_size > 0 ? (size_t)head->world_size : 0;
    }
    if (job->world_size < job->count)
        job->world_size = job->count;
    short_mpi_name(job->mpi, sizeof job->mpi, trc_head(job->process[0].rank.file)->mpi);
    return true;
}

static bool take_processes(struct ana_job *job, struct ana_process *list, size_t n)
{
    ana_analysis_stop(job);
    forget_processes(job);
    job->process = list;
    job->count = n;
    job->generation++;
    job->clock = ana_clock_new();
    bool ok = job->clock != NULL;
    for (size_t i = 0; ok && i < n; i++)
        ok = number_calls(job, &list[i]) && ana_clock_add_file(job->clock, list[i].rank.file);
    return ok && describe(job) && ana_analysis_start(job);
}

/* ---- the state of the whole -----------------------------------------------------------------------------------------
 */

static void judge(struct ana_job *job)
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
        if (p->alive && p->heartbeat_ns < job->horizon_ns)
            job->horizon_ns = p->heartbeat_ns;
        aborted |= p->rank.state == ANA_RANK_ABORTED || p->rank.state == ANA_RANK_DEAD;
        done |= p->rank.state == ANA_RANK_DONE;
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
    /* Polling keeps last_end moving: then what counts is since when we have seen no progress. */
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

static void warn(struct ana_job *job, const char *path, const char *text)
{
    size_t n = strlen(path) + strlen(text) + 3;
    char **grown = realloc(job->warning, (job->warnings + 1) * sizeof *grown);
    if (grown)
        job->warning = grown;
    char *line = grown ? malloc(n) : NULL;
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

static void collect_warnings(struct ana_job *job)
{
    forget_warnings(job);
    if (job->count < job->world_size) {
        char text[128];
        snprintf(text, sizeof text, "%zu of %zu ranks have no trace file here", job->world_size - job->count,
                 job->world_size);
        warn(job, "", text);
    }
    if (job->left_out) {
        char text[128];
        snprintf(text, sizeof text, "%zu file%s of an earlier run in the same folder left out", job->left_out,
                 job->left_out == 1 ? "" : "s");
        warn(job, "", text);
    }
    for (size_t i = 0; i < job->bundle.count; i++) {
        const struct ana_bundle_file *f = &job->bundle.files[i];
        if (!f->file)
            warn(job, "", f->error ? f->error : "out of memory");
        for (size_t d = 0; f->file && trc_damage(f->file, d); d++)
            warn(job, f->path, trc_damage(f->file, d));
        if (f->file && trc_head(f->file)->error[0])
            warn(job, f->path, trc_head(f->file)->error);
    }
    for (size_t i = 1; i < job->count; i++)
        if (job->process[i].rank.world == job->process[i - 1].rank.world && job->process[i].rank.rank >= 0 &&
            job->process[i].rank.rank == job->process[i - 1].rank.rank)
            warn(job, trc_path(job->process[i].rank.file), "a second file for this rank");
        else if (job->process[i].rank.world != job->process[i - 1].rank.world &&
                 !(trc_head(job->process[i].rank.file)->flags & TRC_HEAD_SPAWNED))
            warn(job, trc_path(job->process[i].rank.file),
                 "belongs to another run of MPI at the same time in the same folder");
}

/* ---- the public way in ----------------------------------------------------------------------------------------------
 */

void ana_job_look(struct ana_job *job)
{
    struct ana_here here;
    ana_here_now(&here);
    for (size_t i = 0; i < job->count; i++) {
        ana_process_look(&job->process[i], job->clock, i, &here);
        if (!job->process[i].alive && job->process[i].rank.state != ANA_RANK_UNKNOWN)
            trc_set_final(job->process[i].rank.file);
    }
    judge(job);
}

bool ana_job_refresh(struct ana_job *job)
{
    bool moved = ana_bundle_scan(&job->bundle) > 0;
    for (size_t i = 0; i < job->bundle.count; i++)
        if (job->bundle.files[i].file)
            moved |= trc_refresh(job->bundle.files[i].file);
    size_t n;
    struct ana_process *list = list_processes(job, &n);
    if (list && n > 0 && !same_processes(job, list, n)) {
        if (!take_processes(job, list, n))
            return moved;
        moved = true;
    } else {
        free(list);
    }
    for (size_t i = 0; i < job->count; i++)
        ana_clock_update_file(job->clock, i, job->process[i].rank.file);
    ana_job_look(job);
    collect_warnings(job);
    ana_analysis_refresh(job);
    return moved;
}

enum trc_status ana_job_open(const char *const *folders, size_t n, struct ana_job **out, char *error, size_t error_size)
{
    struct ana_job *job = calloc(1, sizeof *job);
    if (!job || n == 0 || !ana_bundle_open(&job->bundle, folders, n)) {
        snprintf(error, error_size, "%s", n ? "out of memory" : "no trace folder named");
        free(job);
        return TRC_BAD;
    }
    static const struct trc_call unknown = {"unknown call", TRC_OP_OTHER};
    ana_map_init(&job->call_by_name, sizeof(uint32_t));
    ana_map_init(&job->call_by_address, sizeof(uint32_t));
    ana_map_init(&job->comm_names, sizeof(char *));
    job->progress_ns = INT64_MIN;
    if ((job->call = calloc(1, sizeof *job->call)) != NULL) {
        job->call[0] = (struct ana_call_name){unknown.name, unknown.opclass};
        job->calls = 1;
        name_job(job);
        ana_job_refresh(job);
    }
    if (job->count) {
        *out = job;
        return TRC_OK;
    }
    if (job->bundle.count == 0)
        snprintf(error, error_size, "%s: no trace files (*%s) here", folders[0], ANA_SUFFIX);
    else
        snprintf(error, error_size, "%s", job->bundle.files[0].error ? job->bundle.files[0].error : "out of memory");
    ana_job_close(job);
    return TRC_BAD;
}

void ana_job_set_line_finder(struct ana_job *job, ana_line_finder *finder, void *context)
{
    job->line_finder = finder;
    job->line_context = context;
}

void ana_job_close(struct ana_job *job)
{
    if (!job)
        return;
    ana_analysis_stop(job);
    forget_processes(job);
    forget_warnings(job);
    ana_bundle_close(&job->bundle);
    ana_map_free(&job->call_by_name);
    ana_map_free(&job->call_by_address);
    for (size_t i = 0; i < job->comm_names.count; i++)
        free(*(char **)ana_map_value(&job->comm_names, i));
    ana_map_free(&job->comm_names);
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

int64_t ana_job_time(const struct ana_job *job, size_t rank_index, uint64_t ticks)
{
    return ana_clock_job_time(job->clock, rank_index, ticks);
}

struct ana_job_info ana_job_info(const struct ana_job *job)
{
    if (job->count == 0) /* memory ran out while new files were taken in */
        return (struct ana_job_info){.name = job->name, .command = "", .mpi = "", .quiet_ns = -1};
    struct ana_job_info info = {
        .name = job->name,
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
        .quiet_ns = job->quiet_ns,
        .generation = job->generation,
    };
    for (size_t i = 0; i < job->count; i++) {
        const struct ana_rank *r = &job->process[i].rank;
        const struct trc_head *head = trc_head(r->file);
        info.lost_records += head->lost_records;
        info.recycled_records += head->recycled_records;
        if ((int64_t)head->start.realtime_ns < info.start_realtime_ns)
            info.start_realtime_ns = (int64_t)head->start.realtime_ns;
        double ticks = (double)r->calls * (double)head->call_cost_q10 / 1024 + (double)head->slow_ticks;
        if (head->call_cost_q10)
            info.overhead_s = fmax(info.overhead_s, ticks * trc_ns_per_tick(r->file) / 1e9);
    }
    return info;
}
