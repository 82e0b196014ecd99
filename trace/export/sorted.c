#include "trace/export/sorted.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The bytes of a record lie in the room; this says where, how many, and of when. */
struct record {
    int64_t at_ns;
    uint32_t offset, length;
};

/* A file of records in order. */
struct run {
    FILE *file;
    struct head {
        int64_t at_ns;
        uint32_t length;
    } head; /* of the record that comes next */
    bool over;
};

struct ana_sorted {
    char path[4096];
    char *room;
    size_t used;
    struct record *record;
    size_t records, most;
    struct run *run;
    size_t runs;
    int error;
};

struct ana_sorted *ana_sorted_new(const char *path)
{
    struct ana_sorted *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->room = malloc(ANA_SORTED_ROOM);
    s->most = ANA_SORTED_ROOM / 32;
    s->record = malloc(s->most * sizeof *s->record);
    snprintf(s->path, sizeof s->path, "%s.sort", path);
    if (s->room && s->record)
        return s;
    ana_sorted_free(s);
    return NULL;
}

void ana_sorted_free(struct ana_sorted *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->runs; i++)
        fclose(s->run[i].file);
    free(s->run);
    free(s->room);
    free(s->record);
    free(s);
}

static int by_time(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset); /* as they were added */
}

/* A file whose name is gone; NULL, with s->error: it cannot be made. */
static FILE *make_file(struct ana_sorted *s)
{
    int fd = ana_out_make(s->path);
    FILE *file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    if (!file)
        s->error = errno;
    if (fd >= 0)
        unlink(s->path);
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

/* Sorts what is in the room, and keeps it in a file. */
static void keep_run(struct ana_sorted *s)
{
    struct run *grown = realloc(s->run, (s->runs + 1) * sizeof *grown);
    s->run = grown ? grown : s->run;
    FILE *file = grown ? make_file(s) : NULL;
    if (!grown)
        s->error = ENOMEM;
    if (!file)
        return;
    qsort(s->record, s->records, sizeof *s->record, by_time);
    for (size_t i = 0; i < s->records; i++) {
        struct head head = {s->record[i].at_ns, s->record[i].length};
        fwrite(&head, sizeof head, 1, file);
        fwrite(s->room + s->record[i].offset, 1, head.length, file);
    }
    if (fflush(file) != 0 || ferror(file))
        s->error = errno ? errno : EIO;
    rewind(file);
    s->run[s->runs++] = (struct run){.file = file};
    s->used = s->records = 0;
}

void ana_sorted_add(struct ana_sorted *s, int64_t at_ns, const void *bytes, size_t n)
{
    if (s->used + n > ANA_SORTED_ROOM || s->records == s->most)
        keep_run(s);
    if (s->error || s->used + n > ANA_SORTED_ROOM || s->records == s->most)
        return;
    memcpy(s->room + s->used, bytes, n);
    s->record[s->records++] = (struct record){at_ns, (uint32_t)s->used, (uint32_t)n};
    s->used += n;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static void read_head(struct run *run)
{
    run->over = fread(&run->head, sizeof run->head, 1, run->file) != 1;
}

/* Of two runs that have more the one whose record comes first; of one time the earlier run. */
static size_t earlier(const struct ana_sorted *s, size_t a, size_t b)
{
    if (a == SIZE_MAX || s->run[a].over)
        return b;
    if (b == SIZE_MAX || s->run[b].over)
        return a;
    int64_t x = s->run[a].head.at_ns, y = s->run[b].head.at_ns;
    return x < y || (x == y && a < b) ? a : b;
}

/* A tree whose leaves are the runs: each node knows which of those below it comes first. */
static void settle(const struct ana_sorted *s, size_t *tree, size_t leaves, size_t leaf)
{
    for (size_t node = (leaves + leaf) / 2; node > 0; node /= 2)
        tree[node] = earlier(s, tree[2 * node], tree[2 * node + 1]);
}

static void merge_runs(struct ana_sorted *s, size_t *tree, size_t leaves, struct ana_out *out)
{
    for (size_t i = 0; i < leaves; i++)
        tree[leaves + i] = i < s->runs ? i : SIZE_MAX;
    for (size_t i = 0; i < s->runs; i++)
        read_head(&s->run[i]);
    for (size_t i = 0; i < leaves; i++)
        settle(s, tree, leaves, i);
    for (size_t first; (first = tree[1]) != SIZE_MAX && !s->run[first].over && !s->error;) {
        struct run *run = &s->run[first];
        if (run->head.length > ANA_SORTED_ROOM || fread(s->room, 1, run->head.length, run->file) != run->head.length)
            s->error = EIO;
        else
            ana_out_bytes(out, s->room, run->head.length);
        read_head(run);
        settle(s, tree, leaves, first);
    }
}

int ana_sorted_write(struct ana_sorted *s, struct ana_out *out)
{
    if (s->runs && s->records)
        keep_run(s);
    if (!s->runs) {
        qsort(s->record, s->records, sizeof *s->record, by_time);
        for (size_t i = 0; i < s->records && !s->error; i++)
            ana_out_bytes(out, s->room + s->record[i].offset, s->record[i].length);
        return s->error;
    }
    size_t leaves = 2;
    while (leaves < s->runs)
        leaves *= 2;
    size_t *tree = calloc(2 * leaves, sizeof *tree);
    if (tree)
        merge_runs(s, tree, leaves, out);
    else
        s->error = ENOMEM;
    free(tree);
    return s->error;
}
