/* What a recorder would have written of a run by one moment. */
#include "tests/yardstick/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define POLL_NS 2000 /* from one poll to the next */

/* Of the builder's communicators the second is MPI_COMM_SELF. */
static uint32_t comm_id(int comm)
{
    return comm ? (uint32_t)comm + TB_SELF : TB_WORLD;
}

static struct trc_sig sig_of(const struct op *op)
{
    struct trc_sig sig = tb_sig(op->call);
    sig.site = 0x1000u + (uint64_t)op->phase * 64 + (uint64_t)op->kind;
    sig.comm = comm_id(op->comm);
    if (op->kind == OP_SEND || op->kind == OP_SENDRECV || op->kind == OP_ISEND) {
        sig.flags |= TRC_SIG_P2P_OUT | (op->call == TB_SSEND ? TRC_SIG_SYNC : 0);
        sig.peer = op->to;
        sig.tag = op->tag;
        sig.sent = op->bytes;
    }
    if (op->kind == OP_RECV || op->kind == OP_SENDRECV || op->kind == OP_IRECV) {
        sig.flags |= TRC_SIG_P2P_IN;
        sig.source = op->from == ANY ? TRC_PEER_ANY : op->from;
        sig.rtag = op->rtag;
        sig.received = op->bytes;
    }
    if (op->kind == OP_COLLECTIVE || op->kind == OP_ICOLLECTIVE) {
        sig.flags |= TRC_SIG_COLL;
        sig.peer = op->root >= 0 ? op->root : TRC_PEER_NONE;
        sig.sent = sig.received = op->call == TB_BARRIER ? 0 : op->bytes;
    }
    if (op->kind == OP_ISEND || op->kind == OP_IRECV || op->kind == OP_ICOLLECTIVE)
        sig.flags |= TRC_SIG_START;
    if (op->kind == OP_PROBE || op->kind == OP_IPROBE) {
        sig.call = op->kind == OP_PROBE ? TB_PROBE : TB_IPROBE;
        sig.source = op->from == ANY ? TRC_PEER_ANY : op->from;
        sig.rtag = op->rtag;
    }
    if (op->kind == OP_WAITALL || op->kind == OP_TEST || op->kind == OP_FINALIZE) {
        sig.call = op->kind == OP_WAITALL ? TB_WAITALL : op->kind == OP_TEST ? TB_TEST : TB_FINALIZE;
        sig.comm = 0;
    }
    return sig;
}

struct writer {
    const struct program *p;
    const struct run *run;
    struct tb *tb;
    int rank, started, of[MOST_OPS];
    uint64_t request[MOST_OPS];
};

static void completed(struct writer *w, int i)
{
    const struct op *op = &w->p->op[w->rank][w->of[i]];
    const struct done *done = &w->run->op[w->rank][w->of[i]];
    struct trc_sig sig = sig_of(op);
    sig.flags = (sig.flags & ~(uint32_t)(TRC_SIG_START | TRC_SIG_COLL | TRC_SIG_P2P_OUT)) | TRC_SIG_COMPLETE;
    sig.site = 0;
    if (op->kind == OP_IRECV) {
        sig.source = done->from;
        sig.rtag = done->tag;
    } else {
        sig = (struct trc_sig){.call = sig.call,
                               .flags = sig.flags,
                               .comm = sig.comm,
                               .peer = TRC_PEER_NONE,
                               .tag = TRC_TAG_NONE,
                               .source = TRC_PEER_NONE,
                               .rtag = TRC_TAG_NONE};
    }
    tb_sub(w->tb, 0, &sig, (struct tb_more){.request = w->request[i]});
}

static void polls(struct writer *w, struct trc_sig sig, int64_t begin, int64_t end)
{
    uint64_t count = (uint64_t)(end - begin) / POLL_NS;
    sig.flags |= TRC_SIG_POLL;
    if (count)
        tb_fold(w->tb, 0, &sig, begin, end, count, (end - begin) / 2);
}

static void write_done(struct writer *w, int i)
{
    const struct op *op = &w->p->op[w->rank][i];
    const struct done *done = &w->run->op[w->rank][i];
    struct trc_sig sig = sig_of(op);
    int64_t begin = done->begin;
    if (op->kind == OP_COMPUTE)
        return;
    if (op->kind == OP_TEST || op->kind == OP_IPROBE) {
        polls(w, sig, begin, done->end - 300);
        begin = done->end - 300;
    }
    if (op->kind == OP_RECV || op->kind == OP_SENDRECV || op->kind == OP_PROBE || op->kind == OP_IPROBE) {
        sig.source = done->from;
        sig.rtag = done->tag;
    }
    uint64_t request = tb_event(w->tb, 0, &sig, begin, done->end, (struct tb_more){.sequence = done->sequence});
    if (sig.flags & TRC_SIG_START) {
        w->of[w->started] = i;
        w->request[w->started++] = request;
    }
    if (op->kind == OP_TEST)
        completed(w, --w->started);
    for (int k = 0; op->kind == OP_WAITALL && k < w->started; k++)
        completed(w, k);
    w->started = op->kind == OP_WAITALL ? 0 : w->started;
}

static void write_begun(struct writer *w, int i, int64_t ns)
{
    const struct op *op = &w->p->op[w->rank][i];
    const struct done *done = &w->run->op[w->rank][i];
    struct trc_sig sig = sig_of(op);
    if (op->kind == OP_COMPUTE || op->kind == OP_STUCK || op->kind == OP_EXIT)
        return;
    if (op->kind == OP_TEST || op->kind == OP_IPROBE)
        polls(w, sig, done->begin, ns);
    else
        tb_inside(w->tb, 0, &sig, done->begin, done->sequence);
}

enum { MOST_BYTES = 4 << 20 }; /* of a file */

/* Files are made where they lie, as the recorder does: most of their pages nobody touches. */
static uint8_t *map_file(const char *folder, int rank, int *fd)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, rank);
    *fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (*fd < 0 || ftruncate(*fd, MOST_BYTES)) {
        perror(path);
        exit(1);
    }
    uint8_t *at = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    return at;
}

static void record_rank(struct writer *w, int64_t ns, const char *folder)
{
    const struct program *p = w->p;
    const struct done *done = w->run->op[w->rank];
    int64_t ended = 0;
    bool finalized = false;
    int fd;
    uint8_t *image = map_file(folder, w->rank, &fd);
    w->tb = tb_new_in(w->rank, p->ranks, image, MOST_BYTES);
    for (int c = 1; c < p->comms; c++)
        for (int i = 0; i < p->comm[c].size; i++)
            if (p->comm[c].member[i] == w->rank)
                tb_comm(w->tb, comm_id(c), 0x2000u + (uint64_t)c, i, p->comm[c].member, p->comm[c].size);
    for (int i = 0; i < w->run->done[w->rank] && done[i].begin <= ns; i++) {
        if (done[i].end <= ns)
            write_done(w, i);
        else
            write_begun(w, i, ns);
        finalized = p->op[w->rank][i].kind == OP_FINALIZE && done[i].end <= ns;
        ended = p->op[w->rank][i].kind == OP_EXIT ? done[i].begin : 0;
    }
    if (!finalized)
        tb_running(w->tb, ended ? ended : ns);
    if (ended)
        tb_head(w->tb)->flags |= TRC_HEAD_EXITED;
    size_t size;
    tb_image(w->tb, &size);
    tb_free(w->tb);
    munmap(image, MOST_BYTES);
    if (ftruncate(fd, (off_t)size))
        perror("ftruncate");
    close(fd);
}

void record(const struct program *program, const struct run *run, int64_t ns, const char *folder)
{
    for (int r = 0; r < program->ranks; r++) {
        struct writer w = {.p = program, .run = run, .rank = r};
        record_rank(&w, ns, folder);
    }
}
