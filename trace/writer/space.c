/* The writer's file as the system sees it: space, pages, descriptor, and changes to the file by others. */
#include "trace/writer/stream.h"
#include "trace/writer/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE           4096u
#define HIGH_FD        4000 /* no higher than needed: fork copies the descriptors up to the highest */
#define ADDRESS_SHARE  8u   /* we take at most this part of what a limit on address space leaves */
#define POPULATE_WRITE 23   /* MADV_POPULATE_WRITE, Linux 5.14 */

static size_t chunks_offset(const struct trc_writer *writer)
{
    return (size_t)(writer->chunks - writer->base);
}

int trc_writer_adopt(struct trc_writer *writer, int fd)
{
    struct rlimit limit;
    rlim_t most = !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < HIGH_FD + 64 ? limit.rlim_cur : HIGH_FD + 64;
    int high = most > 128 ? trc_sys_duplicate(fd, (int)(most - 64)) : -1;
    writer->fd = high < 0 ? fd : high;
    if (high >= 0)
        trc_sys_close(fd);
    struct stat is;
    if (syscall(SYS_fstat, writer->fd, &is)) /* glibc's fstat is newer than what we may need */
        return errno;
    writer->device = is.st_dev;
    writer->inode = is.st_ino;
    writer->had_name = is.st_nlink > 0;
    return 0;
}

/* Reads the file's status.  EBADF: the descriptor is no longer the trace's. */
static int read_status(const struct trc_writer *writer, struct stat *is)
{
    if (syscall(SYS_fstat, writer->fd, is))
        return errno;
    return is->st_dev == writer->device && is->st_ino == writer->inode ? 0 : EBADF;
}

bool trc_writer_has_file(const struct trc_writer *writer)
{
    struct stat is;
    return !read_status(writer, &is);
}

/* Allocates by writing zeros, as posix_fallocate does where the file system cannot, but in larger pieces. */
static int write_zeros(int fd, uint64_t from, uint64_t bytes)
{
    static const char zeros[65536];
    while (bytes) {
        size_t part = bytes < sizeof zeros ? bytes : sizeof zeros;
        ssize_t n = trc_sys_write_at(fd, zeros, part, from);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n == 0)
            return ENOSPC;
        if (n > 0) {
            from += (uint64_t)n;
            bytes -= (uint64_t)n;
        }
    }
    return 0;
}

/* Space is allocated before it is mapped: on a full disk a sparse page would be a SIGBUS when it is touched.  Beyond
 * the process's limit on file sizes allocation would be a SIGXFSZ: so nothing is asked for there. */
int trc_writer_extend(struct trc_writer *writer, uint64_t from, uint64_t bytes)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY && from + bytes > limit.rlim_cur)
        return EFBIG;
    struct stat is;
    int error = read_status(writer, &is);
    if (error)
        return error;
    if ((uint64_t)is.st_size < from)
        return ENODATA; /* it was cut: trc_writer_check says so */
    bool writes = atomic_load(&writer->writes);
    for (error = EINTR; error == EINTR && !writes;)
        error = trc_sys_allocate(writer->fd, from, bytes) ? errno : 0;
    if (!writes && error != EOPNOTSUPP && error != ENOSYS && error != EPERM)
        return error;
    atomic_store(&writer->writes, true); /* the file system cannot, or a seccomp filter refuses it */
    atomic_store(&writer->apart, TRC_APART_PAGES);
    return write_zeros(writer->fd, from, bytes);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Maps bytes [from, to) of the file, in whole pages. */
static int map_file(struct trc_writer *writer, size_t from, size_t to)
{
    size_t start = from & ~(page_size() - 1);
    void *at = mmap(writer->base + start, to - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                    writer->fd, (off_t)start);
    return at == MAP_FAILED ? errno : 0;
}

/* Several threads may do this at a time, for the same blocks or more. */
int trc_writer_allocate(struct trc_writer *writer, unsigned wanted)
{
    unsigned had = atomic_load(&writer->allocated);
    if (wanted <= had)
        return 0;
    size_t from = chunks_offset(writer) + (size_t)had * TRC_BLOCK, bytes = (size_t)(wanted - had) * TRC_BLOCK;
    int error = trc_writer_extend(writer, from, bytes);
    if (!error && atomic_load(&writer->allocated) < wanted)
        error = map_file(writer, from, from + bytes);
    if (error)
        return error;
    while (had < wanted && !atomic_compare_exchange_weak(&writer->allocated, &had, wanted))
        ;
    __atomic_store_n(&writer->head->blocks_allocated, atomic_load(&writer->allocated), __ATOMIC_RELEASE);
    return 0;
}

static bool replace_pages(uintptr_t from, size_t bytes)
{
    return mmap((void *)from, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
                -1, 0) != MAP_FAILED;
}

/* Nobody finds a page without a file: what reads all memory (a leak search, a checkpoint) would fault on each. */
int trc_writer_cut(struct trc_writer *writer, unsigned blocks, unsigned allocated)
{
    struct stat is;
    int error = read_status(writer, &is);
    size_t size = chunks_offset(writer) + (size_t)blocks * TRC_BLOCK, page = page_size(),
           from = (size + page - 1) & ~(page - 1), end = chunks_offset(writer) + (size_t)allocated * TRC_BLOCK;
    if (error || (size_t)is.st_size <= size)
        return error;
    if (from < end && !replace_pages((uintptr_t)writer->base + from, end - from))
        return errno;
    return ftruncate(writer->fd, (off_t)size) ? errno : 0;
}

/* Part of `wanted` that we may take under a limit on address space: the program needs most of the rest. */
static size_t allowance(size_t wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return wanted;
    char text[32] = "";
    int fd = trc_sys_open("/proc/self/statm");
    ssize_t n = fd < 0 ? 0 : trc_sys_read(fd, text, sizeof text - 1);
    if (fd >= 0)
        trc_sys_close(fd);
    size_t pages = 0;
    for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + (size_t)(text[i] - '0');
    size_t used = pages * (size_t)sysconf(_SC_PAGESIZE);
    size_t most = used < limit.rlim_cur ? (limit.rlim_cur - used) / ADDRESS_SHARE : 0;
    return wanted < most ? wanted : most;
}

static void *map_private(size_t bytes, int protection)
{
    void *memory = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

unsigned trc_writer_map(struct trc_writer *writer, size_t offset, unsigned blocks, unsigned least)
{
    size_t most = allowance(offset + (size_t)blocks * TRC_BLOCK);
    most = most > offset ? (most - offset) / TRC_BLOCK : 0;
    blocks = blocks < most ? blocks : (unsigned)most;
    /* Reserves address space for all blocks at once, so that growing never moves the mapping. */
    for (blocks = blocks < least ? least : blocks; blocks >= least; blocks /= 2) {
        size_t size = offset + (size_t)blocks * TRC_BLOCK;
        char *base = map_private(size, PROT_NONE);
        if (!base)
            continue;
        writer->chunk_blocks = map_private(blocks, PROT_READ | PROT_WRITE);
        writer->base = base;
        writer->size = size;
        writer->blocks_most = blocks;
        writer->head = (struct trc_head *)(void *)base;
        writer->chunks = base + offset;
        if (writer->chunk_blocks && !map_file(writer, 0, offset))
            return blocks;
        trc_writer_unmap(writer);
    }
    return 0;
}

void trc_writer_unmap(struct trc_writer *writer)
{
    munmap(writer->base, writer->size);
    if (writer->chunk_blocks)
        munmap((void *)(uintptr_t)writer->chunk_blocks, writer->blocks_most);
    writer->head = NULL;
    writer->base = NULL;
    writer->chunk_blocks = NULL;
}

/* Writes to each page without changing it. */
static void touch_pages(char *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        __atomic_fetch_add((uint32_t *)(void *)(from + at), 0, __ATOMIC_RELAXED);
}

void trc_writer_populate(struct trc_writer *writer, unsigned ahead)
{
    unsigned next = atomic_load(&writer->next_block), allocated = atomic_load(&writer->allocated);
    unsigned from = atomic_load(&writer->populated), to = allocated;
    if (ahead < allocated && next < allocated - ahead)
        to = next + ahead;
    for (from = from > next ? from : next; from < to && !atomic_load(&writer->stopped);) {
        unsigned blocks = to - from < TRC_CHUNK_MOST ? to - from : TRC_CHUNK_MOST;
        char *at = writer->chunks + (size_t)from * TRC_BLOCK;
        if (writer->no_populate || madvise(at, (size_t)blocks * TRC_BLOCK, POPULATE_WRITE)) {
            if (!writer->no_populate && errno != EINVAL)
                return; /* the file is damaged: the next thread that touches it gets SIGBUS */
            writer->no_populate = true;
            if (writer->guarded)
                touch_pages(at, (size_t)blocks * TRC_BLOCK);
        }
        from += blocks;
        for (unsigned had = atomic_load(&writer->populated);
             had < from && !atomic_compare_exchange_weak(&writer->populated, &had, from);)
            ;
    }
}

void trc_writer_set_error(struct trc_writer *writer, int error, const char *what)
{
    struct trc_head *head = writer->head;
    head->error_errno = error;
    size_t n = strlen(what);
    n = n < sizeof head->error ? n : sizeof head->error - 1;
    memcpy(head->error, what, n);
    head->error[n] = 0;
}

static void stop_recording(struct trc_writer *writer, int error)
{
    int running = 0;
    atomic_compare_exchange_strong(&writer->stopped, &running, error);
}

bool trc_writer_fault(struct trc_writer *writer, uintptr_t address)
{
    uintptr_t base = (uintptr_t)writer->base, end = base + writer->size;
    if (!base || address < base || address >= end)
        return false;
    struct stat is;
    bool was_cut = !read_status(writer, &is) && (uint64_t)is.st_size <= address - base;
    stop_recording(writer, was_cut ? ENODATA : EIO);
    /* All pages behind it are gone, too, as a rule; where memory is short, a part is replaced. */
    uintptr_t page = address & ~(uintptr_t)(page_size() - 1);
    size_t few = (size_t)TRC_CHUNK_MOST * TRC_BLOCK, part = end - page < few ? end - page : few;
    if (!replace_pages(page, end - page) && !replace_pages(page, part))
        return false;
    uintptr_t gone = atomic_load(&writer->gone);
    while ((!gone || page < gone) && !atomic_compare_exchange_weak(&writer->gone, &gone, page))
        ;
    return true;
}

const char *trc_writer_check(struct trc_writer *writer)
{
    struct stat is;
    const char *why = NULL;
    int error = read_status(writer, &is);
    size_t whole = chunks_offset(writer) + (size_t)atomic_load(&writer->allocated) * TRC_BLOCK;
    if (error == EBADF) {
        if (!atomic_load(&writer->trimmed) && atomic_exchange(&writer->limit, atomic_load(&writer->allocated)) &&
            !writer->head->error[0])
            trc_writer_set_error(writer, EBADF, TRC_ERROR_TAKEN);
        return NULL; /* room is left for the newest events */
    }
    /* A thread that was allocating may have made a file that was cut as long as before, with a hole for a head. */
    bool is_short = !error && (size_t)is.st_size < whole && !atomic_load(&writer->trimmed),
         has_head = error || is_short || !memcmp(writer->head->magic, TRC_MAGIC, sizeof writer->head->magic);
    if (error)
        why = "the trace file cannot be reached any more";
    else if (is_short || !has_head || atomic_load(&writer->stopped) == ENODATA)
        why = "the trace file was cut while it was written: what was in it is lost";
    else if (is.st_nlink == 0 && writer->had_name)
        why = "the trace file was removed while it was written";
    else if (atomic_load(&writer->stopped))
        why = "the trace file could not be written: its disk failed or is full";
    if (!why) {
        writer->kept = *writer->head;
        return NULL;
    }
    stop_recording(writer, error ? error : EIO);
    /* Before anybody touches it. */
    if (!has_head)
        trc_writer_fault(writer, (uintptr_t)writer->base);
    else if (!error && (size_t)is.st_size < whole)
        trc_writer_fault(writer, (uintptr_t)writer->base + (((size_t)is.st_size + PAGE - 1) & ~(size_t)(PAGE - 1)));
    return why;
}

/* Writes a head into a file that ends before the chunks: a trace without any. */
static void write_anew(struct trc_writer *writer)
{
    struct stat is;
    struct trc_head *head = &writer->kept;
    head->blocks_allocated = head->blocks_used = 0;
    if (!read_status(writer, &is) && trc_sys_write_at(writer->fd, head, sizeof *head, 0) > 0)
        return;
}

void trc_writer_stop(struct trc_writer *writer, const char *why)
{
    uintptr_t gone = atomic_load(&writer->gone);
    bool headless = gone && gone < (uintptr_t)writer->chunks;
    struct trc_head *mapped = writer->head;
    if (headless)
        writer->head = &writer->kept;
    trc_writer_set_error(writer, atomic_load(&writer->stopped), why);
    writer->head->state = TRC_STATE_STOPPED;
    if (headless)
        write_anew(writer);
    writer->head = mapped;
}

const char *trc_writer_sync(struct trc_writer *writer)
{
    unsigned used = atomic_load(&writer->next_block), allocated = atomic_load(&writer->allocated);
    used = used < allocated ? used : allocated;
    if (!trc_sys_sync_pages(writer->base, chunks_offset(writer) + (size_t)used * TRC_BLOCK, MS_SYNC))
        return NULL;
    stop_recording(writer, errno);
    return "the trace file could not be written back: what came last is lost";
}
