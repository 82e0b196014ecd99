#include "trace/members/watch.h"
#include "trace/members/bundle.h"
#include "trace/util/hash.h"
#include "trace/util/now.h"
#include "trace/util/text.h"
#include "trace/util/grow.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_NS   3000000000 /* requests lapse after TRC_DIGEST_LAPSE_S */
#define LIST_NS  2000000000
#define FRESH_NS 3000000000 /* a digest that is older has no writer any more */
#define NODES    65536u     /* digests that are read at most */
#define FEW      64u        /* files that are all read at each look, without a request for digests */
#define PARTS    8u         /* the part of files that move that is read at each look */
#define QUIET    32u        /* part of the still files that is read at each look, to be on the safe side */

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static bool runs(const struct trc_file *file)
{
    uint32_t state = trc_head(file)->state;
    return state == TRC_STATE_RUNNING || state == TRC_STATE_STARTING;
}

/* Touches the request in a folder.  Anything there but a plain file stays as it is. */
static void ask_in(const char *folder)
{
    char path[4400];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/" TRC_DIGEST_REQUEST, folder) >= (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return; /* a folder that is not ours to write to: the files tell */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
        (void)!futimens(fd, NULL);
    close(fd);
}

static void ask(struct ana_bundle *bundle, int64_t now)
{
    bool running = false;
    if (now - bundle->watch.asked_ns < ASK_NS)
        return;
    for (size_t i = 0; i < bundle->count && !running; i++)
        running = bundle->files[i].file && runs(bundle->files[i].file);
    for (size_t i = 0; running && i < bundle->folders; i++)
        ask_in(bundle->folder[i]);
    bundle->watch.asks |= running;
    bundle->watch.asked_ns = now;
}

/* ---- finding and reading ----------------------------------------------------------------------------------------- */

static void add_node(struct ana_watch *watch, const char *folder, const char *name)
{
    char path[4400];
    size_t n = strlen(name), s = strlen(TRC_DIGEST_SUFFIX);
    if (n <= s || strcmp(name + n - s, TRC_DIGEST_SUFFIX) != 0 || watch->nodes == NODES ||
        snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    for (size_t i = 0; i < watch->nodes; i++)
        if (strcmp(watch->node[i].path, path) == 0)
            return;
    char *copy = ana_grow_alone(&watch->node, watch->nodes, sizeof *watch->node) ? strdup(path) : NULL;
    if (copy)
        watch->node[watch->nodes++] = (struct ana_watched_node){.path = copy};
}

static void list_nodes(struct ana_bundle *bundle, int64_t now)
{
    struct ana_watch *watch = &bundle->watch;
    if (watch->listed_ns && now - watch->listed_ns < LIST_NS)
        return;
    watch->listed_ns = now;
    for (size_t i = 0; i < bundle->folders; i++) {
        DIR *dir = opendir(bundle->folder[i]);
        for (struct dirent *entry; dir && (entry = readdir(dir));)
            add_node(watch, bundle->folder[i], entry->d_name);
        if (dir)
            closedir(dir);
    }
}

static uint64_t place_of(const char *host, const char *boot)
{
    return ana_hash_text(host) * 31 + ana_hash_text(boot);
}

static void list_files(struct ana_bundle *bundle)
{
    struct ana_watch *watch = &bundle->watch;
    if (!watch->file.value_size)
        ana_map_init(&watch->file, sizeof(size_t));
    for (; watch->files < bundle->count; watch->files++) {
        const struct ana_bundle_file *f = &bundle->files[watch->files];
        if (!f->file)
            continue; /* one that cannot be read yet is read in full for ever: there are few */
        const struct trc_head *head = trc_head(f->file);
        size_t *index = ana_map_add(&watch->file, place_of(head->host, head->boot_id), head->pid_start,
                                    head->pid ^ head->namespaces[TRC_NAMESPACE_pid] << 32);
        if (index)
            *index = watch->files + 1;
    }
}

/* Applies a digest to the files that it is of. */
static void hand_out(struct ana_bundle *bundle, const struct ana_watched_node *node)
{
    const struct trc_node *now = &node->now;
    uint64_t place = place_of(now->head.host, now->head.boot_id);
    for (uint32_t i = 0; i < now->head.ranks; i++) {
        const struct trc_digest_rank *rank = &now->rank[i];
        const size_t *index =
            ana_map_find(&bundle->watch.file, place, rank->pid_start, rank->pid ^ rank->pid_namespace << 32);
        if (!index)
            continue;
        struct ana_watched *watched = &bundle->files[*index - 1].watched;
        watched->before = watched->known ? watched->change : ~rank->change;
        watched->change = rank->change;
        watched->known = true;
        watched->node = now;
        watched->rank = rank;
        watched->by = node;
    }
}

static void read_node(struct ana_bundle *bundle, struct ana_watched_node *node, int64_t now)
{
    const char *why = trc_node_read(node->path, node->sequence, &node->now);
    free(node->complaint);
    node->complaint = NULL;
    if (why) {
        size_t size = strlen(node->path) + strlen(why) + 3;
        node->complaint = malloc(size);
        if (node->complaint)
            snprintf(node->complaint, size, "%s: %s", node->path, why);
        if (node->complaint)
            trc_clean_text(node->complaint);
    }
    if (!node->now.rank)
        return;
    bool rises = node->sequence && node->now.head.sequence > node->sequence;
    node->sequence = node->now.head.sequence;
    if (!rises) { /* it may have been left by a run of long ago */
        trc_node_free(&node->now);
        return;
    }
    node->moved_ns = now;
    hand_out(bundle, node);
}

void ana_watch_refresh(struct ana_bundle *bundle)
{
    struct ana_watch *watch = &bundle->watch;
    if (!watch->on || bundle->count <= FEW)
        return;
    int64_t now = ana_now_ns();
    watch->looks++;
    ask(bundle, now);
    for (size_t i = 0; i < bundle->count; i++) {
        bundle->files[i].watched.node = NULL;
        bundle->files[i].watched.rank = NULL;
    }
    for (size_t i = 0; i < watch->nodes; i++)
        trc_node_free(&watch->node[i].now);
    size_t nodes = watch->nodes;
    list_nodes(bundle, now);
    if (watch->nodes != nodes) /* they have moved */
        for (size_t i = 0; i < bundle->count; i++)
            bundle->files[i].watched.by = NULL;
    list_files(bundle);
    for (size_t i = 0; i < watch->nodes; i++)
        read_node(bundle, &watch->node[i], now);
}

void ana_watch_free(struct ana_bundle *bundle)
{
    struct ana_watch *watch = &bundle->watch;
    for (size_t i = 0; watch->asks && i < bundle->folders; i++) {
        char path[4400];
        if (snprintf(path, sizeof path, "%s/" TRC_DIGEST_REQUEST, bundle->folder[i]) < (int)sizeof path)
            unlink(path); /* others who watch ask again */
    }
    for (size_t i = 0; i < watch->nodes; i++) {
        trc_node_free(&watch->node[i].now);
        free(watch->node[i].path);
        free(watch->node[i].complaint);
    }
    ana_map_free(&watch->file);
    free(watch->node);
    *watch = (struct ana_watch){0};
}

/* ---- sparing ----------------------------------------------------------------------------------------------------- */

const char *ana_watch_complaint(const struct ana_watch *watch, size_t i)
{
    const struct ana_watched_node *node = i < watch->nodes ? &watch->node[i] : NULL;
    if (!node)
        return NULL;
    /* Reading during a write finds half of a digest now and then. */
    bool fresh = node->moved_ns && ana_now_ns() - node->moved_ns <= FRESH_NS;
    return node->complaint && !fresh ? node->complaint : "";
}

static bool reads(struct ana_watched *watched)
{
    watched->read = watched->change;
    watched->was_read = watched->known;
    return false;
}

bool ana_watch_spares(struct ana_watch *watch, struct trc_file *file, struct ana_watched *watched, size_t index)
{
    if (!watch->on || !runs(file) || trc_wanted(file) || !watched->by ||
        ana_now_ns() - watched->by->moved_ns > FRESH_NS)
        return reads(watched);
    if (!watched->rank)
        return true; /* look between two digests */
    bool quiet = watched->was_read && watched->change == watched->read;
    bool still = watched->change == watched->before;
    uint64_t turn = index + watch->looks;
    if (quiet ? turn % QUIET == 0 : still || turn % PARTS == 0)
        return reads(watched);
    return (!trc_digest_is_incomplete(file) && trc_digest_apply(file, watched->node, watched->rank, quiet)) ||
           reads(watched);
}
