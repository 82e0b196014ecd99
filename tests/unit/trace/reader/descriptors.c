/* More files than the process may have open: all are read, grow and are read again; gone or replaced files are noticed.
 * The soft limit is raised first. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/reader/reader.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FILES = 300, SOFT = 70, HARD = 160, CALLS = 700 };

static char folder[] = "/tmp/hpctop-descriptors-XXXXXX";
static struct trc_file *file[FILES];
static struct trc_cursor *cursor[FILES];
static struct tb *made[FILES];

static const char *path_of(int i)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, i);
    return path;
}

static int count_open(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n - 3;
}

static void add_calls(int i, int n)
{
    for (int k = 0; k < n; k++) {
        int64_t at = 1000 * (int64_t)(trc_head(file[i])->heartbeats * CALLS + (uint64_t)k) + 5000;
        tb_send(made[i], 0, at, at + 10, (i + 1) % FILES, k, 8);
    }
}

/* Number of new records of the file, all its own. */
static int count_new(int i)
{
    struct trc_record record;
    int n = 0;
    while (trc_next(cursor[i], &record) == TRC_OK)
        n += record.kind == TRC_RECORD_EVENT && record.sig->peer == (i + 1) % FILES;
    return n;
}

static void open_all(void)
{
    char error[512];
    for (int i = 0; i < FILES; i++) {
        made[i] = tb_new_small(i, FILES, 4096, 1u << 20);
        for (int k = 0; k < CALLS; k++)
            tb_send(made[i], 0, 1000 * k, 1000 * k + 10, (i + 1) % FILES, k, 8);
        tb_running(made[i], 1000 * CALLS);
        tb_write(made[i], path_of(i));
        CHECK(trc_open(path_of(i), &file[i], error, sizeof error) == TRC_OK, "%s", error);
        cursor[i] = trc_cursor_open(file[i], 0);
    }
}

static void read_all(void)
{
    int wrong = 0;
    for (int i = 0; i < FILES; i++)
        wrong += count_new(i) != CALLS;
    CHECK(wrong == 0, "%d of %d files were not read whole", wrong, FILES);
    for (int i = 0; i < FILES; i++) {
        add_calls(i, 1);
        tb_write(made[i], path_of(i));
    }
    wrong = 0;
    for (int i = 0; i < FILES; i++)
        wrong += !trc_refresh(file[i]) || count_new(i) != 1 || trc_damage(file[i], 0);
    CHECK(wrong == 0, "%d of %d files did not grow", wrong, FILES);
}

/* Last opened files have no descriptor of their own. */
static void test_gone(void)
{
    const int gone = FILES - 1, other = FILES - 2;
    unlink(path_of(gone));
    unlink(path_of(other));
    tb_write(made[0], path_of(other));
    for (int i = other; i <= gone; i++) {
        trc_refresh(file[i]);
        CHECK(trc_spoilt(file[i]) && trc_head(file[i])->rank == i, "file %d was taken away, rank %d", i,
              trc_head(file[i])->rank);
    }
}

int main(void)
{
    if (!mkdtemp(folder))
        return 77;
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){SOFT, HARD});
    open_all();
    int open = count_open();
    CHECK(open > SOFT && open < HARD, "%d descriptors are open", open);
    read_all();
    CHECK(count_open() == open, "%d descriptors, then %d", open, count_open());
    test_gone();
    for (int i = 0; i < FILES; i++) {
        trc_cursor_close(cursor[i]);
        trc_close(file[i]);
        tb_free(made[i]);
        unlink(path_of(i));
    }
    CHECK(count_open() < 10, "%d descriptors are left open", count_open());
    rmdir(folder);
    return check_result();
}
