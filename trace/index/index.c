#include "trace/index/index.h"
#include "trace/index/keep.h"
#include "trace/job/pass.h"
#include "trace/util/hash.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_OF_MESSAGE 2u /* bytes that a message takes, packed well */

/* What an index is of. */
struct of {
    char what[16];
    uint64_t program, files, ranks;
};

void ana_job_set_index(struct ana_job *job, bool wanted)
{
    job->no_index = !wanted;
}

/* ---- what it is of ---------------------------------------------------------------------------------------------- */

/* A hash of the program that runs, so that no other build takes up what this one wrote; 0: it cannot be read. */
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

/* A hash of what the files say of themselves, which changes with all that is written to them. */
static uint64_t hash_files(const struct ana_job *job)
{
    uint64_t hash = job->count;
    for (size_t i = 0; i < job->count; i++) {
        const struct ana_process *p = &job->process[i];
        struct trc_head head = *trc_head(p->rank.file);
        uint64_t of[] = {hash, ana_hash(&head, sizeof head), p->rank.world, (uint64_t)p->rank.rank, 0, 0};
        for (size_t c = 0; c < trc_event_chunks(p->rank.file); c++) {
            of[4] += trc_event_chunk(p->rank.file, c).records;
            of[5] ^= trc_event_chunk(p->rank.file, c).first_ticks * (c + 1);
        }
        hash = ana_hash(of, sizeof of);
    }
    return hash;
}

static struct of describe(const struct ana_job *job)
{
    return (struct of){"hpctop index 1", hash_program(), hash_files(job), job->count};
}

/* ---- where it is ------------------------------------------------------------------------------------------------ */

enum { BESIDE, IN_CACHE, PLACES };

/* The folder of an index and, behind its last slash, its name; false: there is no such place. */
static bool place_of(const struct ana_job *job, int place, const struct of *of, char *out, size_t size)
{
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
    int n = -1;
    if (place == BESIDE && job->bundle.folders == 1)
        n = snprintf(out, size, "%s/index/analysis", job->bundle.folder[0]);
    else if (place == IN_CACHE && cache && *cache == '/')
        n = snprintf(out, size, "%s/hpctop/%016" PRIx64, cache, of->files);
    else if (place == IN_CACHE && home && *home == '/')
        n = snprintf(out, size, "%s/.cache/hpctop/%016" PRIx64, home, of->files);
    return n > 0 && (size_t)n < size;
}

/* Makes the folder that a path lies in, with those around it but for the outermost two. */
static bool make_folder(const char *path, int deep)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return true;
    *slash = 0;
    return mkdir(folder, 0777) == 0 || errno == EEXIST ||
           (errno == ENOENT && deep > 0 && make_folder(folder, deep - 1) && mkdir(folder, 0777) == 0);
}

/* Bytes of the files on disk. */
static uint64_t size_of_files(const struct ana_job *job)
{
    uint64_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < job->bundle.count; i++)
        if (job->bundle.files[i].file && stat(job->bundle.files[i].path, &st) == 0)
            bytes += st.st_blocks * 512 < st.st_size ? (uint64_t)st.st_blocks * 512 : (uint64_t)st.st_size;
    return bytes;
}

/* ---- taken up --------------------------------------------------------------------------------------------------- */

static bool is_whole_run(const struct ana_job *job)
{
    return job->window.begin_ns == INT64_MIN && job->window.end_ns == INT64_MAX && job->causes != ANA_CAUSES_NONE;
}

static bool take_from(struct ana_job *job, const char *path, const struct of *own)
{
    struct of of;
    struct ana_keep keep;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    if (!file)
        return false;
    bool same = fread(&of, sizeof of, 1, file) == 1 && memcmp(&of, own, sizeof of) == 0;
    bool ok = same;
    if (same) {
        ana_keep_load(&keep, file);
        ana_job_keep(&keep, job, 0);
        ok = ana_keep_end(&keep);
    }
    fclose(file);
    if (same && !ok) { /* what was taken up by then is of no use */
        ana_analysis_again(job);
    }
    return ok;
}

void ana_index_take(struct ana_job *job)
{
    if (job->no_index || !is_whole_run(job) || ana_anyone_alive(job) || job->flushed)
        return;
    char path[PATH_MAX];
    struct of of = describe(job);
    for (int place = 0; of.program && place < PLACES && !job->indexed; place++)
        job->indexed = place_of(job, place, &of, path, sizeof path) && take_from(job, path, &of);
    if (!job->indexed)
        return;
    ana_bounds_pass_stop(job);
    job->pass.done = job->flushed = true;
    job->revision++;
}

/* ---- written ---------------------------------------------------------------------------------------------------- */

/* Writes an index of at most `most` bytes into a file, with so many of the latest messages and waits.  *full: it does not
 * fit. */
static bool write_with(struct ana_job *job, FILE *file, const struct of *of, uint64_t most, size_t newest, bool *full)
{
    struct ana_keep keep;
    *full = false;
    if (fseek(file, 0, SEEK_SET) != 0 || ftruncate(fileno(file), 0) != 0 || fwrite(of, sizeof *of, 1, file) != 1)
        return false;
    ana_keep_save(&keep, file, most);
    ana_job_keep(&keep, job, newest);
    bool ok = ana_keep_end(&keep);
    *full = keep.bytes > most;
    return ok && fflush(file) == 0;
}

/* Writes it with as many of them as fit. */
static bool write_within(struct ana_job *job, FILE *file, const struct of *of, uint64_t most)
{
    bool full, ok = write_with(job, file, of, most, ANA_STORE_MESSAGES, &full);
    if (ok || !full || !write_with(job, file, of, most, 0, &full))
        return ok;
    uint64_t left = most - (uint64_t)ftell(file);
    for (size_t newest = ANA_STORE_MESSAGES; newest && !ok; newest /= 2)
        if (newest * LEAST_OF_MESSAGE < left)
            ok = write_with(job, file, of, most, newest, &full);
    return ok || write_with(job, file, of, most, 0, &full);
}

static bool write_to(struct ana_job *job, const char *path, const struct of *of, uint64_t most, char *said, size_t size)
{
    char part[PATH_MAX + 32];
    snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    int fd = make_folder(path, 2) ? open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (!file) {
        snprintf(said, size, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    errno = 0;
    bool ok = write_within(job, file, of, most);
    int why = errno;
    ok = fclose(file) == 0 && ok && rename(part, path) == 0;
    if (!ok)
        unlink(part);
    if (ok)
        snprintf(said, size, "%s", path);
    else if (why == ENOSPC || why == EDQUOT)
        snprintf(said, size, "%s: %s", path, strerror(why));
    else
        snprintf(said, size, "it would take more than %.0f MB", (double)most / 1e6);
    return ok;
}

/* Why there can be none; NULL: there can. */
static const char *why_not(const struct ana_job *job, bool always)
{
    if (job->no_index)
        return "nobody wants one";
    if (!job->flushed || !job->pass.done || !is_whole_run(job))
        return "only a job that has ended, and was read as a whole, has an index";
    if (job->any_device)
        return "what ran on GPUs is not kept yet";
    if (job->records < ANA_INDEX_RECORDS && !always)
        return "it is read in no time";
    const struct ana_why *why = &job->pass.why;
    bool missing = job->pass.tally.out_of_memory || why->out_of_memory || why->feed->causes->out_of_memory ||
                   job->pass.regions.out_of_memory || job->pass.accesses.out_of_memory;
    return missing ? "memory ran out" : NULL;
}

bool ana_index_write(struct ana_job *job, bool always, char *said, size_t size)
{
    const char *reason = job->indexed ? NULL : why_not(job, always);
    struct of of = describe(job);
    uint64_t most = ana_index_most(size_of_files(job), job->count);
    char path[PATH_MAX];
    bool done = job->indexed;
    snprintf(said, size, "%s", reason ? reason : done ? "it is there" : "there is no place for it");
    for (int place = 0; !reason && !done && of.program && place < PLACES; place++)
        done = place_of(job, place, &of, path, sizeof path) && write_to(job, path, &of, most, said, size);
    job->indexed |= done;
    return done;
}

void ana_index_keep(struct ana_job *job)
{
    char said[16];
    ana_index_write(job, false, said, sizeof said);
}
