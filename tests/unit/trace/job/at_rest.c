/* A job that has ended: once a look found nothing new, each look reads some of its files.  What changes all the same,
 * and a process that goes on, is found. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/reader/reader.h"
#include "trace/util/now.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 600, LOOKS = 2 /* looks until each file was read */ };

static struct tb *made[RANKS];
static const char *folder;
static uint64_t revision[RANKS];

/* Opens `ranks` ranks of a job that has ended; they have finalized, or were last seen alive years ago. */
static struct ana_job *open_ended(int ranks, bool finalized)
{
    folder = folder_make("rests");
    for (int r = 0; r < RANKS; r++) {
        made[r] = tb_new_small(r, RANKS, 4096, 1u << 20);
        tb_send(made[r], 0, 1000, 2000, (r + 1) % RANKS, 5, 64);
        if (!finalized)
            tb_running(made[r], 3000);
        if (r < ranks)
            folder_write(made[r], r);
    }
    return folder_open();
}

/* Looks at them until nothing is new. */
static struct ana_job *make_rest(int ranks, bool finalized)
{
    struct ana_job *job = open_ended(ranks, finalized);
    ana_job_refresh(job);
    ana_job_advance(job, 0);
    ana_job_refresh(job);
    return job;
}

static void finish(struct ana_job *job)
{
    ana_job_close(job);
    for (int r = 0; r < RANKS; r++)
        tb_free(made[r]);
    folder_remove();
}

/* Number of files read since the last call. */
static size_t count_read(struct ana_job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < ana_job_info(job).ranks; i++) {
        uint64_t now = trc_revision(ana_job_rank(job, i)->file);
        n += now != revision[i];
        revision[i] = now;
    }
    return n;
}

/* Looks until something changed, no more often than until each file was read.  Returns whether it did. */
static bool look(struct ana_job *job)
{
    for (int i = 0; i < LOOKS; i++) {
        count_read(job);
        if (ana_job_refresh(job))
            return true;
    }
    return false;
}

static void test_some(void)
{
    struct ana_job *job = make_rest(RANKS, true);
    count_read(job);
    CHECK(!ana_job_refresh(job), "something has changed");
    size_t first = count_read(job);
    CHECK(!ana_job_refresh(job), "something has changed");
    size_t second = count_read(job);
    CHECK(first > 0 && second > 0 && first + second == RANKS, "%zu files were read, then %zu", first, second);
    finish(job);
}

/* Overwritten head of the last file; its size stays. */
static void test_overwritten(void)
{
    struct ana_job *job = make_rest(RANKS, true);
    char path[600];
    snprintf(path, sizeof path, "%s/%d.hpctop", folder, RANKS - 1);
    FILE *f = fopen(path, "r+");
    CHECK(f && fputs("something", f) >= 0 && fclose(f) == 0, "not written");
    CHECK(look(job) && trc_spoilt(ana_job_rank(job, RANKS - 1)->file), "nobody told");
    CHECK(ana_job_warning(job, 0) && strstr(ana_job_warning(job, 0), "the head is gone"), "nobody was warned");
    CHECK(!look(job), "it is told once");
    finish(job);
}

static void test_goes_on(void)
{
    struct ana_job *job = make_rest(RANKS, false);
    CHECK(ana_job_info(job).state == ANA_ABORTED, "it is %s", ana_state_name(ana_job_info(job).state));
    struct trc_head *head = tb_head(made[RANKS - 1]);
    head->heartbeats++;
    head->latest.realtime_ns = (uint64_t)ana_wall_ns();
    folder_write(made[RANKS - 1], RANKS - 1);
    CHECK(look(job) && ana_job_rank(job, RANKS - 1)->state == ANA_RANK_RUN, "it is %s",
          ana_rank_state_name(ana_job_rank(job, RANKS - 1)->state));
    CHECK(count_read(job) == RANKS, "when one changed, all are read");
    ana_job_refresh(job);
    CHECK(count_read(job) == RANKS, "and from then on");
    finish(job);
}

static void test_new_file(void)
{
    struct ana_job *job = make_rest(RANKS - 1, true);
    folder_write(made[RANKS - 1], RANKS - 1);
    CHECK(ana_job_refresh(job) && ana_job_info(job).ranks == RANKS, "it has %zu ranks", ana_job_info(job).ranks);
    finish(job);
}

/* A process that goes on after MPI_Finalize may end at any time. */
static void test_lives_on(void)
{
    struct ana_job *job = open_ended(RANKS - 1, true);
    folder_this_process(made[RANKS - 1]);
    folder_write(made[RANKS - 1], RANKS - 1);
    ana_job_refresh(job);
    ana_job_advance(job, 0);
    ana_job_refresh(job);
    count_read(job);
    ana_job_refresh(job);
    CHECK(ana_job_rank(job, RANKS - 1)->lives_on && count_read(job) == RANKS, "it was taken to rest");
    finish(job);
}

static void test_folder(void)
{
    struct ana_job *job = make_rest(2, true);
    size_t before = 0, after = 0;
    folder_remove();
    ana_job_refresh(job);
    for (size_t i = 0; ana_job_warning(job, i); i++) {
        after += strstr(ana_job_warning(job, i), "is gone") != NULL;
        before++;
    }
    CHECK(after == 1, "%zu warnings, of which %zu tell that the folder is gone", before, after);
    finish(job);
}

int main(void)
{
    test_some();
    test_overwritten();
    test_goes_on();
    test_new_file();
    test_lives_on();
    test_folder();
    return check_result();
}
