#include "trace/members/bundle.h"
#include "trace/util/text.h"
#include "trace/util/thread_pool.h"
#include "trace/util/hash.h"
#include "trace/util/now.h"
#include "trace/util/grow.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MANY    128u /* files, above which several are read at once: opening mostly waits for a file system */
#define THREADS 8u   /* threads that read them, beside the caller's */
#define AT_ONCE 256u /* files that are opened until whoever watches is asked again */
#define SOME    512u /* files that are read at a look where nothing is expected to change */

static char *join_path(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

bool ana_bundle_open(struct ana_bundle *bundle, const char *const *places, size_t n)
{
    *bundle = (struct ana_bundle){.place = calloc(n ? n : 1, sizeof *bundle->place),
                                  .error = calloc(n ? n : 1, sizeof *bundle->error)};
    ana_map_init(&bundle->known, 1);
    ana_map_init(&bundle->folder_known, sizeof(size_t));
    if (!bundle->place || !bundle->error) {
        ana_bundle_close(bundle);
        return false;
    }
    for (; bundle->places < n; bundle->places++)
        if (!(bundle->place[bundle->places] = strdup(places[bundle->places]))) {
            ana_bundle_close(bundle);
            return false;
        }
    return true;
}

static void close_file(void *files, size_t i)
{
    struct ana_bundle_file *f = &((struct ana_bundle_file *)files)[i];
    trc_close(f->file);
    free(f->path);
    free(f->error);
}

void ana_bundle_close(struct ana_bundle *bundle)
{
    ana_watch_free(bundle);
    ana_thread_pool_run(bundle->thread_pool, bundle->count, close_file, bundle->files);
    ana_thread_pool_free(bundle->thread_pool);
    for (size_t i = 0; i < bundle->places; i++) {
        free(bundle->place[i]);
        free(bundle->error[i]);
    }
    free(bundle->error);
    for (size_t i = 0; i < bundle->folders; i++)
        free(bundle->folder[i]);
    free(bundle->folder);
    ana_map_free(&bundle->folder_known);
    ana_map_free(&bundle->known);
    free(bundle->files);
    free(bundle->place);
    *bundle = (struct ana_bundle){0};
}

/* Threads that help to read files; NULL: there are too few files. */
static struct ana_thread_pool *helpers(struct ana_bundle *bundle)
{
    if (bundle->count > MANY && !bundle->thread_pool) {
        trc_expect(bundle->count);
        bundle->thread_pool = ana_thread_pool_new(THREADS);
    }
    return bundle->thread_pool;
}

/* Tries to open a file that is not open. */
static void try_open(void *files, size_t i)
{
    struct ana_bundle_file *f = &((struct ana_bundle_file *)files)[i];
    char error[512] = "";
    if (f->file || f->left_out)
        return;
    free(f->error);
    f->error = NULL;
    if (trc_open(f->path, &f->file, error, sizeof error) == TRC_OK) {
        f->opened_ns = ana_now_ns();
        return;
    }
    f->file = NULL;
    trc_clean_text(error); /* it has the path in it */
    f->error = strdup(error);
}

/* Whether a path is known.  Some file systems give a file a new inode number at times: so paths count, too. */
static bool is_known(const struct ana_bundle *bundle, const char *path, const struct stat *st)
{
    return ana_map_find(&bundle->known, st->st_dev, st->st_ino, 0) ||
           ana_map_find(&bundle->known, ana_hash_text(path), 0, 1);
}

static bool make_known(struct ana_bundle *bundle, const char *path, const struct stat *st)
{
    return ana_map_add(&bundle->known, st->st_dev, st->st_ino, 0) &&
           ana_map_add(&bundle->known, ana_hash_text(path), 0, 1);
}

/* The index of the folder that a file lies in; SIZE_MAX: out of memory. */
static size_t folder_of(struct ana_bundle *bundle, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = !slash ? strdup(".") : strndup(path, slash > path ? (size_t)(slash - path) : 1);
    struct stat st = {0};
    if (!name)
        return SIZE_MAX;
    stat(name, &st);
    size_t *number = ana_map_add(&bundle->folder_known, st.st_dev, st.st_ino, 0);
    if (number && *number == 0 && ana_grow_alone(&bundle->folder, bundle->folders, sizeof *bundle->folder)) {
        bundle->folder[bundle->folders++] = name;
        *number = bundle->folders;
        return *number - 1;
    }
    free(name);
    return number && *number ? *number - 1 : SIZE_MAX;
}

/* Adds a file that is not known yet; takes ownership of `path`.  *folder: where it lies; SIZE_MAX: to be found. */
static void add_file(struct ana_bundle *bundle, char *path, size_t *folder)
{
    struct stat st;
    if (!path || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || is_known(bundle, path, &st)) {
        free(path);
        return;
    }
    bool room = ana_grow_alone(&bundle->files, bundle->count, sizeof *bundle->files);
    if (room && *folder == SIZE_MAX)
        *folder = folder_of(bundle, path);
    if (!room || *folder == SIZE_MAX || !make_known(bundle, path, &st)) {
        free(path);
        return;
    }
    bundle->files[bundle->count++] = (struct ana_bundle_file){.path = path, .folder = *folder};
}

struct counted {
    size_t open, left_out;
};

static struct counted count(const struct ana_bundle_file *files, size_t n)
{
    struct counted counted = {0};
    for (size_t i = 0; i < n; i++) {
        counted.open += files[i].file != NULL;
        counted.left_out += files[i].left_out;
    }
    return counted;
}

/* Opens files that are not open.  Returns the number of files opened. */
static size_t open_files(struct ana_bundle *bundle)
{
    const struct ana_opener *opener = &bundle->opener;
    struct ana_thread_pool *thread_pool = helpers(bundle);
    bool going = true;
    size_t opened = 0, some = thread_pool ? AT_ONCE : 1;
    for (size_t from = 0; from < bundle->count; from += some) {
        struct ana_bundle_file *files = &bundle->files[from];
        size_t n = bundle->count - from < some ? bundle->count - from : some;
        struct counted before = count(files, n);
        if (before.open + before.left_out == n)
            continue;
        going = going && (!opener->opening || opener->opening(opener->user, from, bundle->count));
        for (size_t i = 0; i < n && !going; i++)
            files[i].left_out = !files[i].file;
        ana_thread_pool_run(thread_pool, n, try_open, files);
        struct counted now = count(files, n);
        opened += now.open - before.open;
        bundle->left_out += now.left_out - before.left_out;
    }
    return opened;
}

static bool had_files(const struct ana_bundle *bundle, size_t place)
{
    size_t n = strlen(bundle->place[place]);
    while (n && bundle->place[place][n - 1] == '/')
        n--;
    for (size_t i = 0; i < bundle->count; i++)
        if (bundle->files[i].file && strncmp(bundle->files[i].path, bundle->place[place], n) == 0 &&
            bundle->files[i].path[n] == '/')
            return true;
    return false;
}

/* Stores the reason why a place could not be read.  A missing folder is empty, and anything but a folder is a file. */
static void note_place(struct ana_bundle *bundle, size_t i, int error)
{
    free(bundle->error[i]);
    bundle->error[i] = NULL;
    bool gone = error == ENOENT && had_files(bundle, i);
    bool missing = error == ENOENT && bundle->places > 1; /* one of several may be a typing error */
    if (error == 0 || error == ENOTDIR || (error == ENOENT && !gone && !missing))
        return;
    const char *why = gone      ? "is gone: its files are read on for as long as hpctop has them open"
                      : missing ? "there is no such folder"
                                : strerror(error);
    size_t n = strlen(bundle->place[i]) + strlen(why) + 3;
    if (!(bundle->error[i] = malloc(n)))
        return;
    snprintf(bundle->error[i], n, "%s: %s", bundle->place[i], why);
    trc_clean_text(bundle->error[i]);
}

const char *ana_bundle_error(const struct ana_bundle *bundle)
{
    for (size_t i = 0; i < bundle->places; i++)
        if (bundle->error[i])
            return bundle->error[i];
    for (size_t i = 0; i < bundle->count; i++)
        if (!bundle->files[i].file && !bundle->files[i].left_out)
            return bundle->files[i].error;
    return NULL;
}

size_t ana_bundle_scan(struct ana_bundle *bundle)
{
    for (size_t i = 0; i < bundle->places; i++) {
        DIR *dir = opendir(bundle->place[i]);
        size_t folder = SIZE_MAX;
        note_place(bundle, i, dir ? 0 : errno);
        if (!dir) {
            add_file(bundle, strdup(bundle->place[i]), &folder);
            continue;
        }
        struct stat st = {0};
        fstat(dirfd(dir), &st);
        /* Known files are recognized by their directory entries, without a system call a file. */
        for (struct dirent *entry; (entry = readdir(dir));)
            if (trc_ends_in(entry->d_name, ANA_SUFFIX) && !ana_map_find(&bundle->known, st.st_dev, entry->d_ino, 0))
                add_file(bundle, join_path(bundle->place[i], entry->d_name), &folder);
        closedir(dir);
    }
    return open_files(bundle);
}

/* Reads a file again, if it is to be. */
static void read_again(void *files, size_t i)
{
    struct ana_bundle_file *f = &((struct ana_bundle_file *)files)[i];
    if (f->reads)
        f->moved = trc_refresh(f->file);
}

/* Reads files [from, to).  Returns whether anything changed. */
static bool read_files(struct ana_bundle *bundle, size_t from, size_t to)
{
    enum { JUST_NOW_NS = 300000000 };
    bool moved = false;
    int64_t now = ana_now_ns();
    for (size_t i = from; i < to; i++) {
        struct ana_bundle_file *f = &bundle->files[i];
        /* Slow opening would make a living process seem silent for as long. */
        bool same = !f->file || (f->opened_ns &&
                                 (now - f->opened_ns < JUST_NOW_NS || trc_head(f->file)->state == TRC_STATE_FINALIZED));
        f->moved = !same && ana_watch_spares(&bundle->watch, f->file, &f->watched, i);
        f->reads = !same && !f->moved;
        f->opened_ns = 0;
    }
    ana_thread_pool_run(helpers(bundle), to - from, read_again, bundle->files + from);
    for (size_t i = from; i < to; i++)
        moved |= bundle->files[i].moved;
    return moved;
}

bool ana_bundle_refresh(struct ana_bundle *bundle, bool at_rest)
{
    size_t from = 0, to = bundle->count;
    ana_watch_refresh(bundle);
    if (at_rest && bundle->count > SOME) {
        from = bundle->turn < bundle->count ? bundle->turn : 0;
        to = bundle->count - from < SOME ? bundle->count : from + SOME;
        bundle->turn = to;
    }
    if (!read_files(bundle, from, to))
        return false;
    read_files(bundle, 0, from);
    read_files(bundle, to, bundle->count);
    return true;
}

/* The time of the newest trace file in a folder; 0 if it has none. */
static int64_t newest_in(const char *folder)
{
    int64_t newest = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        char *path = trc_ends_in(entry->d_name, ANA_SUFFIX) ? join_path(folder, entry->d_name) : NULL;
        if (path && stat(path, &st) == 0) {
            int64_t t = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
            newest = t > newest ? t : newest;
        }
        free(path);
    }
    closedir(dir);
    return newest;
}

/* Looks at folders that are called as libtrace.so calls them or, with `any`, at all that are not hidden. */
static int64_t newest_of(const char *where, bool any, char *out, size_t out_size)
{
    int64_t newest = 0;
    DIR *dir = opendir(where);
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (any ? entry->d_name[0] == '.' : strncmp(entry->d_name, "hpctop-", 7) != 0)
            continue;
        char *path = strcmp(where, ".") == 0 ? strdup(entry->d_name) : join_path(where, entry->d_name);
        int64_t t = path ? newest_in(path) : 0;
        if (t > newest && strlen(path) < out_size) {
            newest = t;
            snprintf(out, out_size, "%s", path);
        }
        free(path);
    }
    closedir(dir);
    return newest;
}

bool ana_newest_folder(const char *where, char *out, size_t out_size)
{
    return newest_of(where, false, out, out_size) || newest_of(where, true, out, out_size);
}
