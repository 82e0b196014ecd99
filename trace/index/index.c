#include "trace/index/index.h"
#include "trace/index/archive.h"
#include "trace/index/load.h"
#include "trace/index/place.h"
#include "trace/job/analysis.h"
#include "trace/job/upper.h"
#include "trace/util/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEW 4096u /* messages that tell what one takes */

/* Job that an index belongs to. */
struct of {
    char what[16];
    uint64_t program, files, ranks;
};

void ana_job_set_index(struct ana_job *job, bool wanted)
{
    ana_job_analysis(job)->no_index = !wanted;
}

/* ---- job that an index belongs to -------------------------------------------------------------------------------- */

/* A hash of the program that runs, so that no other build loads the index of this one; 0: it cannot be read. */
static uint64_t hash_program(void)
{
    static uint64_t known;
    int file = known ? -1 : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    char *bytes = file >= 0 ? malloc(1 << 16) : NULL;
    uint64_t hash[2] = {0, 0};
    ssize_t n = 0;
    while (bytes && (n = read(file, bytes, 1 << 16)) > 0) {
        hash[1] = ana_hash(bytes, (size_t)n);
        hash[0] = ana_hash(hash, sizeof hash);
    }
    if (bytes && n == 0)
        known = hash[0];
    free(bytes);
    if (file >= 0)
        close(file);
    return known;
}

/* Hash and size of each process and each file, found by several threads. */
struct look {
    uint64_t hash;  /* hash of a process's own words in its file; the size of a file */
    uint64_t bytes; /* bytes of its events */
};
struct looks {
    const struct ana_job *job;
    struct look *look; /* entries of processes, then of files */
};

/* A hash of what a file says of itself. */
static uint64_t hash_process(const struct ana_process *p, uint64_t *bytes)
{
    struct trc_head head = *trc_head(p->rank.file);
    uint64_t of[] = {ana_hash(&head, sizeof head), p->rank.world, (uint64_t)p->rank.rank};
    uint64_t hash = ana_hash(of, sizeof of);
    for (size_t c = 0; c < trc_event_chunks(p->rank.file); c++) {
        struct trc_chunk_info is = trc_event_chunk(p->rank.file, c);
        uint64_t chunk[] = {hash,          is.thread,    is.sequence, is.first_ticks,
                            is.last_ticks, is.committed, is.records,  is.lost};
        hash = ana_hash(chunk, sizeof chunk);
        *bytes += is.committed;
    }
    return hash;
}

static void look_at(void *user, size_t i)
{
    struct looks *looks = user;
    const struct ana_job *job = looks->job;
    const struct ana_members *members = ana_job_members(job);
    struct look *look = &looks->look[i];
    if (i < members->count) {
        look->hash = hash_process(&members->process[i], &look->bytes);
        return;
    }
    const struct ana_bundle_file *f = &members->bundle.files[i - members->count];
    struct stat st;
    bool known = stat(f->path, &st) == 0;
    look->hash = known ? (uint64_t)st.st_size : UINT64_MAX;
}

/* Describes the index that would be written now; its program is 0 if that is not known.  *bytes: of all events,
 * since blocks on disk would differ from time to time. */
static struct of describe(const struct ana_job *job, uint64_t *bytes)
{
    const struct ana_members *members = ana_job_members(job);
    const size_t n = members->count + members->bundle.count;
    struct looks looks = {.job = job, .look = calloc(n + 1, sizeof *looks.look)};
    *bytes = 0;
    if (!looks.look)
        return (struct of){.program = 0};
    ana_thread_pool_run(members->bundle.thread_pool, n, look_at, &looks);
    uint64_t hash = n;
    for (size_t i = 0; i < n; i++) {
        hash = ana_hash((uint64_t[]){hash, looks.look[i].hash}, 2 * sizeof hash);
        *bytes += looks.look[i].bytes;
    }
    free(looks.look);
    return (struct of){"hpctop index 6", hash_program(), hash ? hash : 1, members->count};
}

uint64_t ana_index_of(const struct ana_job *job)
{
    uint64_t bytes;
    struct of of = describe(job, &bytes);
    return of.program ? ana_hash(&of, sizeof of) : 0;
}

static bool is_whole_run(const struct ana_job *job)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    return analysis->window.begin_ns == INT64_MIN && analysis->window.end_ns == INT64_MAX;
}

/* Bytes that an index may have at most: a larger one is neither written nor read. */
static uint64_t most_bytes(const struct ana_job *job, uint64_t of_events)
{
    return of_events + ANA_INDEX_BEYOND + (uint64_t)ana_job_members(job)->count * ANA_INDEX_A_RANK;
}

/* ---- loaded ------------------------------------------------------------------------------------------------------ */

/* Loads the index in a file of at most `most` bytes.  False: it belongs to something else, or is refused. */
static bool load_from(struct ana_job *job, FILE *file, const struct of *wanted, uint64_t most)
{
    struct of of;
    struct stat st;
    return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= 0 && (uint64_t)st.st_size <= most &&
           fread(&of, sizeof of, 1, file) == 1 && memcmp(&of, wanted, sizeof of) == 0 &&
           ana_index_load(job, file, sizeof of, (uint64_t)st.st_size);
}

/* Loads the index of a job whose events have not been read, if there is one. */
static void find(struct ana_job *job)
{
    struct ana_analysis *analysis = ana_job_analysis(job);
    uint64_t bytes;
    analysis->index_of = 0;
    if (analysis->no_index || !is_whole_run(job) || ana_members_alive(ana_job_members(job)) || analysis->flushed)
        return;
    const struct of of = describe(job, &bytes);
    for (int i = 0; i < ANA_PLACES_OF_INDEX && of.program && !analysis->indexed; i++) {
        struct ana_place place;
        if (!ana_place_open(job, (enum ana_place_of_index)i, of.files, false, &place))
            continue;
        FILE *file = ana_place_read(&place);
        if (file) {
            load_from(job, file, &of, most_bytes(job, bytes));
            fclose(file);
        }
        ana_place_close(&place);
    }
    analysis->index_of = of.files;
}

/* ---- written ---------------------------------------------------------------------------------------------------- */

/* Saves as many of the latest messages, waits and collectives as fit into `most` bytes with the other parts; none if
 * only the other parts fit, into `ever`.  False: it fails, or does not fit. */
static bool save_latest(struct ana_job_archive *k, uint64_t most, uint64_t ever)
{
    k->archive->most = most;
    if (ana_job_save_latest(k, 0)) {
        double none = (double)k->archive->bytes, each, room;
        ana_job_save_latest(k, FEW);
        each = fmax((double)k->archive->bytes - none, 1) / FEW;
        room = ((double)most - none) / each * 0.9;
        for (size_t newest = (size_t)fmin(room, ANA_STORE_MESSAGES); newest > FEW; newest /= 2)
            if (ana_job_save_latest(k, newest))
                return true;
        return ana_job_save_latest(k, FEW) || ana_job_save_latest(k, 0);
    }
    k->archive->most = ever;
    return ever > most && ana_job_save_latest(k, 0);
}

/* Writes an index.  False: errno says why not, E2BIG: it would take more than its share of `bytes`. */
static bool write_to_file(struct ana_job *job, FILE *file, const struct of *of, uint64_t bytes, bool always)
{
    struct ana_archive archive;
    struct ana_job_archive k = ana_job_archive_of(job, &archive);
    uint64_t share = bytes / ANA_INDEX_SHARE, most = share > sizeof *of ? share - sizeof *of : 0;
    uint64_t ever = always ? most_bytes(job, bytes) - sizeof *of : most;
    errno = 0;
    if (fwrite(of, sizeof *of, 1, file) != 1)
        return false;
    ana_archive_save(&archive, file, ever);
    ana_job_save(&k);
    bool ok = !archive.failed && save_latest(&k, always && most < ANA_INDEX_ASKED ? ANA_INDEX_ASKED : most, ever) &&
              fflush(file) == 0;
    ana_job_save_end(&k);
    if (!ana_archive_end(&archive) || !ok)
        errno = archive.bytes > archive.most ? E2BIG : errno ? errno : ENOMEM;
    return ok;
}

static const char read_live[] = "the job was read while it ran: it has to be read once more";

/* Returns the reason against an index; NULL: there can be one. */
static const char *why_not(const struct ana_job *job, bool always)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_members *members = ana_job_members(job);
    const struct ana_why *why = &analysis->pass.why;
    if (analysis->no_index)
        return "nobody wants one";
    if (!analysis->flushed || !analysis->pass.done || !is_whole_run(job))
        return "only a job that has ended, and was read as a whole, has an index";
    if (analysis->records < ANA_INDEX_RECORDS && !always)
        return "it is read in no time";
    for (size_t i = 0; i < members->count; i++)
        if (trc_damage(members->process[i].rank.file, 0))
            return "a trace file is damaged";
    bool missing = analysis->unread || ana_merge_failed(analysis->pass.merge) || analysis->pass.tally.out_of_memory ||
                   why->out_of_memory || why->causes->out_of_memory || analysis->pass.regions.out_of_memory ||
                   analysis->pass.accesses.out_of_memory;
    return missing ? "memory ran out" : !analysis->index_of ? read_live : NULL;
}

bool ana_index_is_missing(const struct ana_job *job)
{
    return !ana_job_analysis(job)->indexed && why_not(job, false) == read_live;
}

/* Writes it to one place.  Returns 0, or why not, as write_to_file says it. */
static int write_to(struct ana_job *job, struct ana_place *place, const struct of *of, uint64_t bytes, bool always)
{
    FILE *file = ana_place_write(place);
    if (!file)
        return errno;
    bool ok = write_to_file(job, file, of, bytes, always);
    int why = ok ? 0 : errno;
    return ana_place_finish(place, file, ok) ? 0 : why ? why : errno;
}

bool ana_index_write(struct ana_job *job, bool always, char *said, size_t size)
{
    struct ana_analysis *analysis = ana_job_analysis(job);
    const char *reason = analysis->indexed ? NULL : why_not(job, always);
    if (reason || analysis->indexed) {
        snprintf(said, size, "%s", reason ? reason : "it is there");
        return !reason;
    }
    uint64_t bytes;
    struct of of = describe(job, &bytes);
    snprintf(said, size, "%s",
             of.files != analysis->index_of ? "the files have changed meanwhile" : "there is no place for it");
    int why = of.program && of.files == analysis->index_of ? ENOENT : E2BIG;
    for (int i = 0; i < ANA_PLACES_OF_INDEX && why && why != E2BIG; i++) {
        struct ana_place place;
        if (!ana_place_open(job, (enum ana_place_of_index)i, of.files, true, &place))
            continue;
        why = write_to(job, &place, &of, bytes, always);
        snprintf(said, size, "%s%s%s", place.path, why ? ": " : "",
                 why == E2BIG ? "it would take more than 2 % of the trace"
                 : why        ? strerror(why)
                              : "");
        ana_place_close(&place);
    }
    analysis->index_of = 0; /* not again */
    return !why;
}

/* Writes the index of a large job, if it can have one. */
static void write_index(struct ana_job *job)
{
    char said[16];
    if (ana_job_analysis(job)->index_of)
        ana_index_write(job, false, said, sizeof said);
}

void ana_index_enter(struct ana_upper *upper)
{
    upper->index_find = find;
    upper->archive = write_index;
}
