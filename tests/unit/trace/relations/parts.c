/* Ranks that are read in parts give the same items in the same order as one merge of all, however they are divided. */
#define FILES 6
#include "tests/support/clocked_files.h"
#include "tests/support/draw.h"
#include "trace/relations/merge.h"
#include "trace/relations/readers.h"
#include "trace/relations/slices.h"

#define MOST 300000

/* Files of two machines, to be filled. */
static void start_two(void)
{
    start(FILES);
    for (size_t i = 0; i < FILES; i += 2)
        strcpy(tb_head(made[i])->boot_id, "another machine");
}

static void open_files(void)
{
    for (size_t i = 0; i < FILES; i++)
        open_file(i);
}

/* ---- delivered events -------------------------------------------------------------------------------------------- */

struct out {
    struct ana_event event;
    const struct trc_call *call;
    const struct trc_comm *comm;
    struct trc_sig sig;
};
static struct out whole[MOST];
static size_t items;

static struct out out_of(const struct ana_event *e)
{
    struct out out;
    memset(&out, 0, sizeof out);
    out.event = *e;
    out.sig = e->sig ? *e->sig : (struct trc_sig){0};
    out.call = e->use ? e->use->call : NULL;
    out.comm = e->use ? e->use->comm : NULL;
    return out;
}

static void read_whole(void)
{
    struct ana_merge *merge = ana_merge_open(file, FILES, clock_);
    for (size_t i = 0; i < FILES; i++)
        ana_merge_set_live(merge, i, false);
    ana_merge_set_slices(merge, ana_slice_shift(file, FILES));
    const struct ana_event *e;
    for (items = 0; items < MOST && (e = ana_merge_next(merge)) != NULL; items++)
        whole[items] = out_of(e);
    ana_merge_close(merge);
}

static bool same(const struct out *a, const struct out *b)
{
    const struct ana_event *x = &a->event, *y = &b->event;
    return x->kind == y->kind && x->index == y->index && x->thread == y->thread && x->begin_ns == y->begin_ns &&
           x->end_ns == y->end_ns && x->joined == y->joined && x->sequence == y->sequence && x->request == y->request &&
           x->request_thread == y->request_thread && a->call == b->call && a->comm == b->comm && !x->sig == !y->sig &&
           !memcmp(&a->sig, &b->sig, sizeof a->sig);
}

/* Reads all in parts, `few` items at a time, and goes no further than `most` items. */
static void read_in_parts(unsigned parts, size_t few, size_t most)
{
    struct ana_readers *readers = ana_readers_new(file, FILES, clock_, parts);
    struct ana_part_source source = ana_readers_source(readers);
    struct ana_merge *merge = ana_merge_of_parts(&source, file, FILES);
    ana_merge_set_slices(merge, ana_slice_shift(file, FILES));
    struct ana_event *e[512];
    size_t n, at = 0, wrong = 0;
    while (at < most && (n = ana_merge_next_few(merge, e, few)) > 0)
        for (size_t i = 0; i < n && at < items; i++, at++) {
            struct out out = out_of(e[i]);
            wrong += !same(&out, &whole[at]) || (e[i]->sig != NULL) != (e[i]->use != NULL);
        }
    CHECK(wrong == 0 && (at >= most || at == items), "%u parts: %zu of %zu items, %zu wrong", parts, at, items, wrong);
    CHECK(!ana_merge_failed(merge) && ana_merge_count(merge) >= at);
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; i < items; i++)
        last_ns = whole[i].event.end_ns > last_ns ? whole[i].event.end_ns : last_ns;
    CHECK(at < items || ana_merge_position(merge) == last_ns);
    ana_merge_close(merge);
    ana_readers_free(readers);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void put_random(uint64_t *seed, size_t f, uint32_t thread, int64_t *end)
{
    struct trc_sig sig = tb_sig(draw(seed, 2) ? TB_BARRIER : TB_ISEND);
    sig.comm = draw(seed, 3) ? TB_WORLD : 0;
    sig.sent = draw(seed, 40);
    sig.flags = draw(seed, 3) ? 0 : TRC_SIG_START;
    int64_t begin = *end + (int64_t)draw(seed, 4);
    switch (draw(seed, 12)) {
    case 0:
        tb_lost(made[f], thread, 1 + draw(seed, 5));
        return;
    case 1:
        *end = begin + (int64_t)draw(seed, 9);
        sig.flags = TRC_SIG_POLL;
        tb_fold(made[f], thread, &sig, begin, *end, 3, 1);
        return;
    case 2:
        sig.flags = TRC_SIG_NESTED;
        tb_event(made[f], thread, &sig, begin, begin + 1, (struct tb_more){0});
        return;
    case 3:
        sig.flags = TRC_SIG_COLL;
        *end = begin + 2;
        tb_event(made[f], thread, &sig, begin, *end, (struct tb_more){.sequence = draw(seed, 1000)});
        return;
    default:
        *end = begin + (int64_t)draw(seed, 6); /* many end at one time */
        tb_event(made[f], thread, &sig, begin, *end, (struct tb_more){0});
        for (uint64_t subs = draw(seed, 4); subs > 0; subs--) {
            sig.flags = TRC_SIG_COMPLETE;
            tb_sub(made[f], thread, &sig, (struct tb_more){.request = draw(seed, 50), .request_thread = thread});
        }
    }
}

static void test_random(uint64_t seed)
{
    start_two();
    for (size_t f = 0; f < FILES; f++)
        for (uint32_t t = 0; t < 1 + f % 3; t++) {
            int64_t end = 0;
            for (uint64_t i = draw(&seed, 3000); i > 0; i--) {
                put_random(&seed, f, t, &end);
                if (draw(&seed, 200) == 0)
                    tb_next_chunk(made[f], t);
            }
        }
    open_files();
    read_whole();
    CHECK(items > 1000);
    for (unsigned parts = 1; parts <= 8; parts++) /* more than there are files, too */
        read_in_parts(parts, 1 + draw(&seed, 512), SIZE_MAX);
    read_in_parts(3, 100, items / 2);
    read_in_parts(3, 512, 1);
    stop(FILES);
}

/* More signatures than there is room for, on one rank, while another needs the same one all the time. */
static void test_signatures(void)
{
    start_two();
    for (uint64_t i = 0; i < 100000; i++)
        for (size_t f = 0; f < 2; f++) {
            struct trc_sig sig = tb_sig(TB_ISEND);
            sig.sent = f ? i : 7;
            sig.peer = 1;
            tb_event(made[f], 0, &sig, (int64_t)i * 2, (int64_t)i * 2 + 1, (struct tb_more){0});
        }
    open_files();
    read_whole();
    CHECK(items == 200000, "%zu", items);
    read_in_parts(1, 512, SIZE_MAX);
    read_in_parts(2, 512, SIZE_MAX);
    stop(FILES);
}

/* Files are divided in their order, and their items about equally. */
static void test_divide(void)
{
    start_two();
    for (size_t f = 0; f < FILES; f++)
        for (int64_t i = 0; i < 100; i++)
            tb_barrier(made[f], 0, i * 2, i * 2 + 1, TB_WORLD, (uint64_t)i);
    open_files();
    uint32_t part[FILES];
    ana_parts_divide(file, FILES, 3, part);
    for (size_t f = 0; f < FILES; f++)
        CHECK(part[f] == f / 2, "file %zu is of part %u", f, part[f]);
    ana_parts_divide(file, FILES, 20, part);
    for (size_t f = 0; f < FILES; f++)
        CHECK(part[f] < 20 && (f == 0 || part[f] > part[f - 1]), "file %zu is of part %u", f, part[f]);
    stop(FILES);
}

/* Source of two parts; the first part fails at its second block. */
static struct ana_part_item one_item[1];
static unsigned asked;

static bool failing_begin(void *user, struct ana_filter filter)
{
    (void)filter;
    return user == NULL;
}
static const struct ana_part_item *failing_next(void *user, size_t part, size_t *used)
{
    (void)user;
    *used = 1;
    one_item[0] = (struct ana_part_item){.signature = UINT32_MAX, .index = (uint32_t)part, .kind = TRC_RECORD_LOST};
    one_item[0].end_ns = ++asked;
    return part == 0 && asked > 2 ? NULL : asked > 20 ? (*used = 0, one_item) : one_item;
}
static void failing_end(void *user)
{
    CHECK(user == NULL);
}

static void test_failure(void)
{
    start_two();
    open_files();
    struct ana_part_source source = {NULL, 2, failing_begin, failing_next, failing_end};
    struct ana_merge *merge = ana_merge_of_parts(&source, file, FILES);
    size_t n = 0;
    while (ana_merge_next(merge))
        n++;
    CHECK(n > 2 && asked > 5 && ana_merge_failed(merge), "%zu items, failed: %d", n, ana_merge_failed(merge));
    ana_merge_close(merge);
    source.user = &source; /* it cannot begin, and is not ended */
    merge = ana_merge_of_parts(&source, file, FILES);
    CHECK(!ana_merge_next(merge) && !ana_merge_next(merge) && ana_merge_failed(merge));
    ana_merge_close(merge);
    stop(FILES);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    for (uint64_t seed = 1; seed <= 8; seed++)
        test_random(seed);
    test_divide();
    test_signatures();
    test_failure();
    rmdir(folder);
    return check_result();
}
