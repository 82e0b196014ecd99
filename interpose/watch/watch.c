#include "interpose/watch/watch.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"
#include "interpose/core/request.h"
#include "interpose/core/state.h"
#include "trace/writer/digest.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define IDLE_NS   2000000000u /* between looks at the request */
#define LOOK_NS   500000000u  /* the same, while somebody watches */
#define LAPSE_NS  (TRC_DIGEST_LAPSE_S * 1000000000ull)
#define PERIOD_NS 950000000u   /* between digests */
#define LIST_NS   30000000000u /* between searches for the node's traces */
#define STALE_NS  1500000000u  /* a digest that stands still for so long has no writer, */
#define SPREAD_NS 1000000000u  /* added, since not all see that at once */

static struct {
    struct ipo_request request;
    uint64_t looked_ns;
    uint64_t request_ns, asked_ns; /* time of the last request, and when we saw that it was new; 0: never */
    struct trc_digest_head head;   /* host, boot, writer; of the last digest that was seen or written: its sequence */
    uint64_t moved_ns;             /* time when that sequence was new */
    uint64_t written_ns, listed_ns;
    bool writes;
    char path[4608];
    struct trc_digest *digest;
} watch;

void ipo_watch_start(void)
{
    const struct trc_head *head = ipo_process.writer.head;
    const uint64_t me[] = {head->pid, head->pid_start, head->namespaces[TRC_NAMESPACE_pid]};
    ipo_request_init(&watch.request, TRC_DIGEST_REQUEST);
    watch.request_ns = ipo_request_time(&watch.request);
    watch.head.writer = trc_digest_sum(me, sizeof me, 1);
    memcpy(watch.head.host, head->host, sizeof watch.head.host);
    memcpy(watch.head.boot_id, head->boot_id, sizeof watch.head.boot_id);
    struct ipo_text path = {0};
    char boot[9] = "";
    ipo_copy(boot, sizeof boot, head->boot_id);
    ipo_text_add(&path, watch.request.folder);
    ipo_text_add(&path, "/");
    ipo_text_add(&path, head->host);
    ipo_text_add(&path, ".");
    ipo_text_add(&path, boot);
    ipo_text_add(&path, TRC_DIGEST_SUFFIX);
    if (watch.request.folder[0] && path.used + 1 < sizeof watch.path)
        memcpy(watch.path, path.text, path.used + 1);
}

/* ---- who writes -------------------------------------------------------------------------------------------------- */

/* Opens the digest; -1: it is not there, or not ours to write. */
static int open_digest(int flags)
{
    struct stat is;
    int fd = trc_sys_open_at(AT_FDCWD, watch.path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 || (!syscall(SYS_fstat, fd, &is) && S_ISREG(is.st_mode) && is.st_nlink == 1 && is.st_uid == geteuid()))
        return fd;
    trc_sys_close(fd);
    return -1;
}

/* Reads the head of the digest that is there.  False: there is none. */
static bool read_other(struct trc_digest_head *other)
{
    int fd = open_digest(O_RDONLY);
    bool read = fd >= 0 && trc_sys_read_at(fd, other, sizeof *other, 0) == (ssize_t)sizeof *other &&
                memcmp(other->magic, TRC_DIGEST_MAGIC, sizeof other->magic) == 0;
    if (fd >= 0)
        trc_sys_close(fd);
    return read;
}

static void decide(uint64_t now)
{
    struct trc_digest_head other;
    bool there = read_other(&other), moves = there && other.sequence != watch.head.sequence;
    if (watch.writes) { /* the smaller number of two goes on */
        watch.writes = !moves || other.writer >= watch.head.writer;
    } else if (there) {
        uint64_t patience = STALE_NS + watch.head.writer % SPREAD_NS;
        watch.writes = !moves && watch.moved_ns && now - watch.moved_ns > patience;
    } else {
        int fd = open_digest(O_WRONLY | O_CREAT | O_EXCL);
        watch.writes = fd >= 0;
        if (fd >= 0)
            trc_sys_close(fd);
        else if (!watch.moved_ns) /* one that was made and not written */
            watch.moved_ns = now;
        else if (now - watch.moved_ns > 2 * (STALE_NS + SPREAD_NS))
            watch.writes = true;
    }
    if (moves || (there && !watch.moved_ns)) {
        watch.head.sequence = other.sequence;
        watch.moved_ns = now;
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool is_of_node(const char *name)
{
    size_t host = strnlen(watch.head.host, sizeof watch.head.host), n = strlen(name), end = strlen(".hpctop");
    return n > host + end && strncmp(name, watch.head.host, host) == 0 && name[host] == '.' &&
           strcmp(name + n - end, ".hpctop") == 0;
}

static void follow(void *unused, const char *name)
{
    (void)unused;
    if (is_of_node(name))
        trc_digest_follow(watch.digest, name);
}

static bool have_memory(void)
{
    if (!watch.digest) {
        void *memory = mmap(NULL, sizeof *watch.digest, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        watch.digest = memory == MAP_FAILED ? NULL : memory;
    }
    return watch.digest;
}

static void write_digest(uint64_t now)
{
    int folder = trc_sys_open_at(AT_FDCWD, watch.request.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0 || !have_memory()) {
        if (folder >= 0)
            trc_sys_close(folder);
        return;
    }
    if (!watch.listed_ns || now - watch.listed_ns > LIST_NS) {
        ipo_directory(watch.request.folder, follow, NULL);
        watch.listed_ns = now;
    }
    watch.head.sequence++;
    watch.head.realtime_ns = trc_wall_ns();
    size_t size =
        trc_digest_make(watch.digest, folder, &watch.head, ipo_process.writer.calls, ipo_process.writer.call_count);
    trc_sys_close(folder);
    int fd = open_digest(O_WRONLY | O_CREAT);
    if (fd < 0)
        return;
    if (trc_sys_write_at(fd, watch.digest->out, size, 0) ==
        (ssize_t)size) /* one piece, as far as the file system can */
        watch.written_ns = watch.moved_ns = now;
    trc_sys_close(fd);
}

void ipo_watch_stop(void)
{
    struct trc_digest_head other;
    if (watch.writes && read_other(&other) && other.writer == watch.head.writer)
        unlink(watch.path);
    watch.writes = false;
    watch.moved_ns = 0;
}

void ipo_watch_round(void)
{
    uint64_t now = trc_now_ns();
    bool watched = watch.asked_ns && now - watch.asked_ns < LAPSE_NS;
    if (!watch.path[0] || now - watch.looked_ns < (watched ? LOOK_NS : IDLE_NS))
        return;
    watch.looked_ns = now;
    uint64_t request = ipo_request_time(&watch.request);
    if (request && request != watch.request_ns)
        watch.asked_ns = now;
    watch.request_ns = request;
    if (!watch.asked_ns || now - watch.asked_ns >= LAPSE_NS) {
        ipo_watch_stop();
        return;
    }
    decide(now);
    if (watch.writes && now - watch.written_ns >= PERIOD_NS)
        write_digest(now);
}
