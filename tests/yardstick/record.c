/* Trace that a recorder would have written of a run by a moment; it goes on from there for a later one. */
#include "tests/yardstick/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BYTES = 8 << 20 }; /* most bytes of a file */
#define LAST_POLL_NS 300

static const struct trc_call calls[] = {
#define CALL(id, name, class) {name, TRC_OP_##class},
#include "tests/yardstick/calls.def"
#undef CALL
};

/* A request whose start is in the file. */
struct opened {
    const struct op *op; /* operation that made it */
    uint64_t number;
    const struct done *done; /* execution that got it, if it was claimed */
    const struct op *by;     /* MPI_Mrecv or MPI_Imrecv that received a claimed message; else NULL */
};

/* The file of a thread, as far as it is written. */
struct written {
    int next;       /* execution */
    uint64_t polls; /* polls of the present execution that are in the file */
    bool looked;    /* the look that saw a request complete is in the file */
    struct opened open[MOST_SLOTS], claim;
    uint32_t neighbours; /* a bit for each communicator whose neighbours are in the file */
};

struct file {
    struct tb *tb;
    uint8_t *image;
    int fd;
    struct written thread[2];
};

static struct recording {
    const struct program *p;
    const struct run *run;
    struct file file[MOST_RANKS];
} rec;

static struct tb *tb_of(int rank)
{
    return rec.file[rank].tb;
}

/* Returns the site of an operation's call, as in its signature. */
static uint64_t site_of(const struct op *op)
{
    return 0x1000u + (uint64_t)op->phase * 64 + (uint64_t)op->kind;
}

/* ---- requests */

static void write_started(const struct actor *actor, struct written *w, const struct op *start, const struct done *done)
{
    for (int i = 0; i < start->slots; i++) {
        struct opened *open = &w->open[start->slot + i];
        if (!open->op)
            continue;
        struct trc_sig sig = sig_of(rec.p, actor->rank, open->op, done);
        sig.flags |= TRC_SIG_START;
        sig.site = site_of(start);
        open->number = tb_sub(tb_of(actor->rank), (uint32_t)actor->thread, &sig,
                              (struct tb_more){.sequence = done->sequences[i % 4]});
    }
}

static void write_completed(const struct actor *actor, struct opened *open, const struct done *wait, int slot)
{
    if (!open->op)
        return;
    const struct op *op = open->op;
    struct trc_sig sig = sig_of(rec.p, actor->rank, op, open->done ? open->done : wait);
    if (open->done)
        sig_received(&sig, op, open->done);
    if (open->by) {
        sig.call = open->by->call;
        sig.site = site_of(open->by);
    }
    uint32_t kept = TRC_SIG_P2P_OUT | TRC_SIG_P2P_IN | TRC_SIG_SYNC;
    sig.flags = (sig.flags & kept) | TRC_SIG_COMPLETE;
    if (op->kind == OP_IRECV || op->kind == OP_RECV_INIT) {
        sig.source = wait->got[slot].from;
        sig.rtag = wait->got[slot].tag;
        sig.received = wait->got[slot].bytes;
        if (wait->got[slot].from == NOBODY) {
            sig = sig_of(rec.p, actor->rank, op, wait);
            sig.flags = TRC_SIG_P2P_IN | TRC_SIG_COMPLETE | TRC_SIG_CANCELLED;
            sig.received = 0;
        }
    }
    tb_sub(tb_of(actor->rank), (uint32_t)actor->thread, &sig,
           (struct tb_more){.request = open->number, .request_thread = (uint32_t)actor->thread});
}

/* A wait for one request names it, and so does MPI_Cancel. */
static void put_waited(struct trc_sig *sig, const struct actor *actor, const struct written *w, const struct op *op)
{
    const struct opened *open = &w->open[op->slot];
    if ((op->call != CALL_WAIT && op->call != CALL_CANCEL) || !open->op)
        return;
    struct done none = {.from = NOBODY};
    struct trc_sig of = sig_of(rec.p, actor->rank, open->op, open->done ? open->done : &none);
    sig->comm = of.comm;
    sig->peer = of.peer;
    sig->tag = of.tag;
    sig->source = of.source;
    sig->rtag = of.rtag;
}

/* ---- calls */

/* The calls of an epoch say whose it is. */
static void put_group(struct trc_sig *sig, int rank, const struct op *op)
{
    int32_t ranks[MOST_RANKS];
    uint32_t n = 0;
    if (op->kind != OP_POST && op->kind != OP_OPEN && op->kind != OP_COMPLETE && op->kind != OP_CLOSE)
        return;
    for (int r = 0; r < rec.p->ranks; r++)
        if (op->group >> r & 1)
            ranks[n++] = r;
    sig->tag = (int32_t)tb_ranks(tb_of(rank), ranks, n);
}

/* The neighbours are in the file from the first neighbourhood collective on. */
static void define_neighbours(int rank, struct written *w, const struct op *op)
{
    const struct comm *c = &rec.p->comm[op->comm];
    int32_t in[MOST_RANKS], out[MOST_RANKS];
    uint32_t ins = 0, outs = 0;
    bool collective = op->kind == OP_COLL || op->kind == OP_ICOLL;
    if (c->kind != COMM_NEIGHBOURS || !collective || op->makes || w->neighbours >> op->comm & 1)
        return;
    w->neighbours |= 1u << op->comm;
    for (int r = 0; r < rec.p->ranks; r++) {
        if (c->from[rank] >> r & 1)
            in[ins++] = r;
        if (c->from[r] >> rank & 1)
            out[outs++] = r;
    }
    struct tb *tb = tb_of(rank);
    tb_neighbors(tb, comm_id(op->comm), tb_ranks(tb, in, ins), tb_ranks(tb, out, outs));
}

/* Polls in vain from `begin` to `end`, or the ones that are not yet in the file. */
static void write_polls(const struct actor *actor, struct written *w, struct trc_sig sig, int64_t begin, int64_t end,
                        int64_t gap)
{
    uint64_t polls = end > begin ? (uint64_t)((end - begin) / gap) : 0;
    if (polls <= w->polls)
        return;
    sig.flags |= TRC_SIG_POLL;
    int64_t busy = gap < 10000 ? gap / 2 : 1000, until = begin + (int64_t)polls * gap;
    uint64_t more = polls - w->polls;
    if (w->polls)
        tb_fold_more(tb_of(actor->rank), (uint32_t)actor->thread, until, more, (int64_t)more * busy);
    else
        tb_fold(tb_of(actor->rank), (uint32_t)actor->thread, &sig, begin, until, polls, (int64_t)polls * busy);
    w->polls = polls;
}

static void write_event(const struct actor *actor, const struct trc_sig *sig, int64_t begin, int64_t end)
{
    tb_event(tb_of(actor->rank), (uint32_t)actor->thread, sig, begin, end, (struct tb_more){0});
}

/* Rounds of a loop that gets nothing: MPI_Waitany without requests; or a lock, MPI_Get and unlock. */
static void write_rounds(const struct actor *actor, struct written *w, const struct op *op, const struct done *done,
                         int64_t until)
{
    for (; done->begin + (int64_t)(w->polls + 1) * op->ns < until; w->polls++) {
        int64_t at = done->begin + (int64_t)w->polls * op->ns;
        struct op one = *op;
        struct trc_sig sig = sig_of(rec.p, actor->rank, op, done);
        if (op->kind == OP_SPIN) {
            one.shared = true;
            one.kind = OP_LOCK;
            one.call = CALL_WIN_LOCK;
            sig = sig_of(rec.p, actor->rank, &one, done);
            write_event(actor, &sig, at, at + 300);
            one.kind = OP_MOVE;
            one.call = CALL_GET;
            sig = sig_of(rec.p, actor->rank, &one, done);
            write_event(actor, &sig, at + 400, at + 700);
            one.kind = OP_UNLOCK;
            one.call = CALL_WIN_UNLOCK;
            sig = sig_of(rec.p, actor->rank, &one, done);
        }
        write_event(actor, &sig, at + 800, at + 1200);
    }
}

static bool is_outside(const struct op *op)
{
    switch (op->kind) {
    case OP_COMPUTE:
    case OP_STUCK:
    case OP_EXIT:
    case OP_KILLED:
    case OP_FORK:
    case OP_FORKED:
    case OP_JOIN:
        return true;
    default:
        return false;
    }
}

/* Communicators, windows and files that a collective has made. */
static void define(int rank, int made)
{
    const struct comm *c = &rec.p->comm[made];
    int32_t members[MOST_RANKS], me = 0, n = c->size + c->remote;
    bool far = false;
    for (int i = c->size; i < n; i++)
        far |= c->member[i] == rank;
    int first = far ? c->size : 0, local = far ? c->remote : c->size;
    for (int i = 0; i < n; i++)
        members[i] = c->member[(first + i) % n];
    for (int i = 0; i < local; i++)
        me = members[i] == rank ? i : me;
    struct tb *tb = tb_of(rank);
    if (c->remote)
        tb_intercomm(tb, comm_id(made), 0x2000u + (uint64_t)made, me, members, local, n - local);
    else
        tb_comm(tb, comm_id(made), 0x2000u + (uint64_t)made, me, members, n);
    if (c->kind == COMM_WINDOW)
        tb_win(tb, comm_id(made), comm_id(made));
    if (c->kind == COMM_FILE)
        tb_file(tb, comm_id(made), comm_id(made), "/data/out");
}

static void note_requests(struct written *w, const struct op *op, const struct done *done, uint64_t number)
{
    bool init = op->kind == OP_SEND_INIT || op->kind == OP_RECV_INIT || op->kind == OP_COLL_INIT;
    if (init || op->kind == OP_ISEND || op->kind == OP_IRECV || op->kind == OP_ICOLL)
        w->open[op->slot] = (struct opened){op, number, NULL, NULL};
    if (op->kind == OP_MPROBE)
        w->claim = (struct opened){op, number, done, NULL};
    if (op->kind == OP_MRECV || op->kind == OP_IMRECV)
        w->claim.by = op;
    if (op->kind == OP_IMRECV) /* takes over the number of the claim */
        w->open[op->slot] = w->claim;
}

static void write_call(const struct actor *actor, struct written *w, const struct op *op, const struct done *done)
{
    struct trc_sig sig = sig_of(rec.p, actor->rank, op, done);
    int64_t begin = done->begin;
    bool init = op->kind == OP_SEND_INIT || op->kind == OP_RECV_INIT || op->kind == OP_COLL_INIT;
    if (init) { /* moves nothing yet */
        sig.flags = 0;
        sig.sent = sig.received = 0;
    }
    put_waited(&sig, actor, w, op);
    put_group(&sig, actor->rank, op);
    define_neighbours(actor->rank, w, op);
    if (is_poll(op)) {
        write_polls(actor, w, sig, begin, done->end - LAST_POLL_NS, op->ns);
        begin = done->end - LAST_POLL_NS;
    }
    if (op->kind == OP_SPIN) {
        write_rounds(actor, w, op, done, done->end);
        return;
    }
    sig_received(&sig, op, done);
    uint64_t number = tb_event(tb_of(actor->rank), (uint32_t)actor->thread, &sig, begin, done->end,
                               (struct tb_more){.sequence = done->sequence});
    note_requests(w, op, done, number);
    if (op->kind == OP_START)
        write_started(actor, w, op, done);
    if (op->kind == OP_MRECV)
        write_completed(actor, &w->claim, done, 0);
    for (int i = 0; op->kind == OP_WAIT && i < op->slots; i++)
        if (done->completed >> i & 1)
            write_completed(actor, &w->open[op->slot + i], done, i);
    if (op->makes)
        define(actor->rank, op->makes);
}

/* Now and then a look at a request, while it computes; the last one may see that it is complete. */
static void write_looks(const struct actor *actor, struct written *w, const struct op *op, const struct done *done,
                        int64_t until)
{
    int64_t gap = op->ns / (op->count + 1);
    bool seen = done->looked && done->looked <= until;
    struct trc_sig sig = sig_of(rec.p, actor->rank, op, done);
    if (!op->count || w->looked)
        return;
    write_polls(actor, w, sig, done->begin, seen ? done->looked - gap : until, gap);
    if (!seen)
        return;
    write_event(actor, &sig, done->looked, done->looked + LAST_POLL_NS);
    write_completed(actor, &w->open[op->slot], done, 0);
    w->looked = true;
}

static void write_begun(const struct actor *actor, struct written *w, const struct op *op, const struct done *done,
                        int64_t ns)
{
    struct trc_sig sig = sig_of(rec.p, actor->rank, op, done);
    put_waited(&sig, actor, w, op);
    put_group(&sig, actor->rank, op);
    define_neighbours(actor->rank, w, op);
    if (op->kind == OP_COMPUTE)
        write_looks(actor, w, op, done, ns);
    else if (is_poll(op))
        write_polls(actor, w, sig, done->begin, ns, op->ns);
    else if (op->kind == OP_SPIN || op->kind == OP_VAIN)
        write_rounds(actor, w, op, done, ns);
    else if (!is_outside(op))
        tb_inside(tb_of(actor->rank), (uint32_t)actor->thread, &sig, done->begin, done->sequence);
    if (is_poll(op) && done->fails && rec.run->gone[actor->rank] <= ns) /* message in the poll that found it */
        tb_inside(tb_of(actor->rank), (uint32_t)actor->thread, &sig, ns, done->sequence);
}

static void write_thread(const struct actor *actor, int index, int64_t ns, bool *finalized)
{
    struct written *w = &rec.file[actor->rank].thread[actor->thread];
    for (; w->next < rec.run->done[index]; w->next++) {
        const struct done *done = &rec.run->log[index][w->next];
        const struct op *op = &actor->op[done->op];
        if (done->begin > ns)
            return;
        if (done->end > ns) {
            write_begun(actor, w, op, done, ns);
            return;
        }
        if (op->kind == OP_COMPUTE)
            write_looks(actor, w, op, done, done->end);
        else if (!is_outside(op))
            write_call(actor, w, op, done);
        *finalized |= op->kind == OP_FINALIZE;
        w->polls = 0;
        w->looked = false;
    }
}

/* ---- files */

/* Files are made where they lie, as the recorder does: most of their pages nobody touches. */
static void map_file(struct file *file, const char *folder, int rank)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    file->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file->fd >= 0 && !ftruncate(file->fd, MOST_BYTES)) {
        file->image = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
        if (file->image != MAP_FAILED)
            return;
    }
    perror(path);
    exit(1);
}

void record_begin(const struct program *p, const struct run *run, const char *folder)
{
    rec.p = p;
    rec.run = run;
    tb_use_calls(calls, sizeof calls / sizeof *calls);
    for (int r = 0; r < p->ranks; r++) {
        struct file *file = &rec.file[r];
        memset(file->thread, 0, sizeof file->thread);
        map_file(file, folder, r);
        file->tb = tb_new_in(r, p->ranks, file->image, MOST_BYTES);
        struct trc_head *head = tb_head(file->tb);
        process_fill(head, r);
        head->thread_level = p->actors > p->ranks ? 3 : 0;
    }
}

/* End of a process that ended by itself. */
static void put_end(int rank, struct trc_head *head, int64_t gone)
{
    for (int a = rank; a < rec.p->actors; a += rec.p->ranks) {
        const struct written *w = &rec.file[rank].thread[rec.p->actor[a].thread];
        if (w->next >= rec.run->done[a] || rec.run->log[a][w->next].begin > gone)
            continue;
        enum kind kind = rec.p->actor[a].op[rec.run->log[a][w->next].op].kind;
        head->flags |= kind == OP_EXIT ? TRC_HEAD_EXITED : 0;
        if (kind == OP_ABORT) {
            head->state = TRC_STATE_ABORTED;
            head->end_ticks = tb_ticks(tb_of(rank), gone);
            head->abort_code = 1;
        }
    }
}

/* A process says ten times a second that it lives. */
static int64_t last_heartbeat(int rank, int64_t ns)
{
    int64_t since = (ns + rank * INT64_C(37000000)) % 100000000;
    return ns > since ? ns - since : ns;
}

void record_until(int rank, int64_t ns)
{
    struct file *file = &rec.file[rank];
    if (ftruncate(file->fd, MOST_BYTES))
        perror("ftruncate");
    int64_t gone = rec.run->gone[rank], until = gone < ns ? gone : ns;
    bool finalized = false;
    size_t size;
    for (int a = rank; a < rec.p->actors; a += rec.p->ranks)
        write_thread(&rec.p->actor[a], a, until, &finalized);
    struct trc_head *head = tb_head(file->tb);
    tb_running(file->tb, finalized ? until : last_heartbeat(rank, until));
    if (finalized) {
        head->state = TRC_STATE_FINALIZED;
        head->end_ticks = tb_ticks(file->tb, until);
    }
    if (gone <= ns)
        put_end(rank, head, gone);
    tb_image(file->tb, &size);
    if (ftruncate(file->fd, (off_t)size))
        perror("ftruncate");
}

void record_end(void)
{
    for (int r = 0; r < rec.p->ranks; r++) {
        struct file *file = &rec.file[r];
        tb_free(file->tb);
        munmap(file->image, MOST_BYTES);
        close(file->fd);
    }
    tb_use_calls(NULL, 0);
}
