/* Hundreds of files, more than there are descriptors, are opened and read again by several threads: each is the same as
 * opened alone, damaged ones too.  Whoever watches can stop it. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/members/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FILES = 900, HARD = 300, CALLS = 50, STOPS = 300 };

static char folder[] = "/tmp/hpctop-bundle-XXXXXX";
static struct tb *made[FILES];

enum damage { WHOLE, EMPTY, OTHER_MAGIC, CUT, KINDS };

static enum damage damage_of(int i)
{
    return i % 9 == 0 ? i / 9 % KINDS : WHOLE;
}

static const char *path_of(int i)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, i);
    return path;
}

static void send_one(int i, int k)
{
    tb_send(made[i], 0, 1000 * k, 1000 * k + 10, (i + 1) % FILES, k, 8);
}

/* Writes the file, and then damages it. */
static void write_file(int i)
{
    tb_running(made[i], 1000 * CALLS);
    tb_write(made[i], path_of(i));
    FILE *f = fopen(path_of(i), "r+");
    bool done = f && fseek(f, 0, SEEK_END) == 0;
    long size = done ? ftell(f) : 0;
    if (damage_of(i) == OTHER_MAGIC)
        done = done && fseek(f, 0, SEEK_SET) == 0 && fputs("something", f) >= 0;
    if (f)
        fclose(f);
    if (damage_of(i) == EMPTY || damage_of(i) == CUT)
        done = done && truncate(path_of(i), damage_of(i) == CUT ? size / 2 : 0) == 0;
    CHECK(done, "%s was not written", path_of(i));
}

static void make_files(void)
{
    for (int i = 0; i < FILES; i++) {
        made[i] = tb_new_small(i, FILES, 4096, 1u << 20);
        for (int k = 0; k < CALLS; k++)
            send_one(i, k);
        write_file(i);
    }
}

/* Whether a file is as it is when nobody else is opened. */
static bool is_as_alone(const struct ana_bundle_file *f)
{
    char error[512] = "";
    struct trc_file *alone = NULL;
    if (trc_open(f->path, &alone, error, sizeof error) != TRC_OK)
        return !f->file && f->error && strcmp(f->error, error) == 0;
    bool same = f->file && !f->error && trc_head(f->file)->rank == trc_head(alone)->rank &&
                trc_event_chunks(f->file) == trc_event_chunks(alone) && trc_threads(f->file) == trc_threads(alone) &&
                trc_thread(f->file, 0)->calls == trc_thread(alone, 0)->calls;
    for (size_t d = 0; same && (trc_damage(f->file, d) || trc_damage(alone, d)); d++)
        same = trc_damage(f->file, d) && trc_damage(alone, d) && !strcmp(trc_damage(f->file, d), trc_damage(alone, d));
    trc_close(alone);
    return same;
}

static void check_all(const struct ana_bundle *bundle, const char *when)
{
    size_t wrong = 0;
    for (size_t i = 0; i < bundle->count; i++)
        wrong += !is_as_alone(&bundle->files[i]);
    CHECK(bundle->count == FILES && !wrong, "%s: %zu of %zu files are not as they are alone", when, wrong,
          bundle->count);
}

static int number_of(const struct ana_bundle_file *f)
{
    return atoi(strrchr(f->path, '/') + 1);
}

static size_t count_whole(void)
{
    size_t n = 0;
    for (int i = 0; i < FILES; i++)
        n += damage_of(i) == WHOLE || damage_of(i) == CUT;
    return n;
}

/* Each third file grows, and only these have moved. */
static void test_refresh(struct ana_bundle *bundle)
{
    for (int i = 0; i < FILES; i += 3) {
        send_one(i, CALLS);
        write_file(i);
    }
    for (size_t i = 0; i < bundle->count; i++)
        bundle->files[i].opened_ns = 0; /* time of opening, long ago */
    CHECK(ana_bundle_refresh(bundle, false), "files have grown");
    size_t wrong = 0;
    for (size_t i = 0; i < bundle->count; i++) {
        const struct ana_bundle_file *f = &bundle->files[i];
        wrong += damage_of(number_of(f)) == WHOLE && f->moved != (number_of(f) % 3 == 0);
    }
    CHECK(!wrong, "%zu files have moved that stayed, or the other way round", wrong);
    check_all(bundle, "read again");
    CHECK(!ana_bundle_refresh(bundle, false), "nothing has changed since");
}

static bool stop_opening(void *user, size_t opened, size_t files)
{
    (void)files;
    *(size_t *)user += 1;
    return opened < STOPS;
}

/* Files opened before somebody stopped it stay; the rest is left out, also at the next look. */
static void test_stopped(void)
{
    const char *place = folder;
    struct ana_bundle bundle;
    size_t asked = 0;
    CHECK(ana_bundle_open(&bundle, &place, 1), "out of memory");
    bundle.opener = (struct ana_opener){.opening = stop_opening, .user = &asked};
    size_t opened = ana_bundle_scan(&bundle), open = 0, left_out = 0;
    for (size_t i = 0; i < bundle.count; i++) {
        open += bundle.files[i].file != NULL;
        left_out += bundle.files[i].left_out;
    }
    CHECK(asked > 1 && opened == open && open > 0 && left_out == bundle.left_out && left_out > 0 &&
              left_out <= FILES - STOPS,
          "asked %zu times; %zu opened, %zu open, %zu left out", asked, opened, open, left_out);
    CHECK(ana_bundle_scan(&bundle) == 0 && bundle.left_out == left_out, "what was left out came back");
    ana_bundle_close(&bundle);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 77;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){HARD, HARD});
    make_files();
    const char *place = folder;
    struct ana_bundle bundle;
    CHECK(ana_bundle_open(&bundle, &place, 1), "out of memory");
    size_t opened = ana_bundle_scan(&bundle);
    CHECK(opened == count_whole() && ana_bundle_scan(&bundle) == 0, "%zu files were opened, not %zu", opened,
          count_whole());
    check_all(&bundle, "opened");
    test_refresh(&bundle);
    ana_bundle_close(&bundle);
    test_stopped();
    for (int i = 0; i < FILES; i++) {
        tb_free(made[i]);
        unlink(path_of(i));
    }
    rmdir(folder);
    return check_result();
}
