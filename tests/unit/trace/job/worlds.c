/* Several worlds, runs and jobs in one folder, or in several: which files are read as one job. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/comms.h"
#include "trace/session/session.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder was used before; and spawned processes are of the job. */
static void several_worlds(void)
{
    folder_make("worlds");
    struct tb *tb[4];
    for (int i = 0; i < 4; i++) {
        tb[i] = tb_new(i == 3 ? 0 : i % 2, i == 3 ? 1 : 2);
        tb_barrier(tb[i], 0, 1000, 2000, TB_SELF, 1);
    }
    tb_clock(tb[0], 1000000000u, 1600000000000000000u, 1); /* an old one, of another size */
    tb_head(tb[0])->world_identity = 7;
    tb_head(tb[3])->world_identity = 9;
    tb_head(tb[3])->flags = TRC_HEAD_SPAWNED;
    tb_head(tb[2])->rank = 0;
    for (int i = 0; i < 4; i++) {
        folder_write(tb[i], i);
        tb_free(tb[i]);
    }
    struct ana_job *job = folder_open();
    CHECK(ana_job_info(job).ranks == 3 && ana_job_info(job).world_size == 3 && ana_job_info(job).state == ANA_FINISHED);
    CHECK(ana_job_rank(job, 0)->world == 0 && ana_job_rank(job, 0)->rank == 0 && ana_job_rank(job, 1)->rank == 1);
    CHECK(ana_job_rank(job, 2)->world == 1 && ana_job_rank(job, 2)->rank == 0);
    CHECK(ana_job_warning(job, 0) &&
          strcmp(ana_job_warning(job, 0), "1 file of an earlier run in the same folder left out") == 0);
    CHECK(!ana_job_warning(job, 1));
    ana_job_close(job);
    folder_remove();
}

/* A later run in the same folder was given the same name: all of the earlier ones is left out. */
static void same_name_again(void)
{
    folder_make("again");
    static const struct {
        int rank;
        uint64_t run; /* minutes after the first */
    } file[] = {{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}, {3, 1}, {1, 2}, {0, 2}};
    int n = (int)(sizeof file / sizeof *file);
    for (int i = 0; i < n; i++) {
        struct tb *tb = tb_new(file[i].rank, file[i].run == 2 ? 2 : 3 + (int)file[i].run);
        tb_barrier(tb, 0, 1000, 2000, TB_SELF, 1);
        /* Within a run, ranks may begin some time after each other. */
        uint64_t began = file[i].run * 60000000000u + (uint64_t)file[i].rank * 500;
        tb_clock(tb, 1000000000u + began, 1700000000000000000u + began, 1);
        folder_write(tb, i);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    CHECK(ana_job_info(job).ranks == 2 && ana_job_info(job).world_size == 2);
    CHECK(ana_job_rank(job, 0)->rank == 0 && ana_job_rank(job, 1)->rank == 1);
    CHECK(strstr(trc_path(ana_job_rank(job, 0)->file), "/8.hpctop") != NULL);
    CHECK(ana_job_warning(job, 0) &&
          strcmp(ana_job_warning(job, 0), "7 files of an earlier run in the same folder left out") == 0);
    CHECK(!ana_job_warning(job, 1));
    ana_job_close(job);
    folder_remove();
}

/* Folders of two jobs are not read as one, whichever comes first; folders of one job are. */
static void folders_of_two_jobs(void)
{
    const char *folder = folder_make("both");
    char path[2][600], file[1300];
    for (int k = 0; k < 2; k++) {
        snprintf(path[k], sizeof path[k], "%s/%c", folder, 'a' + k);
        CHECK(mkdir(path[k], 0700) == 0);
    }
    for (int same = 0; same < 2; same++) {
        for (int k = 0; k < 2; k++) {
            struct tb *tb = tb_new(k && same, same ? 2 : 1);
            tb_barrier(tb, 0, 1000, 2000, TB_SELF, 1);
            if (!same)
                tb_clock(tb, 1000000000u, 1600000000000000000u + (uint64_t)k, 1); /* started at the same time */
            tb_head(tb)->world_identity = same ? 7 : 7 + (uint64_t)k;
            snprintf(file, sizeof file, "%s/0.hpctop", path[k]);
            tb_write(tb, file);
            tb_free(tb);
        }
        const char *both[] = {path[0], path[1]};
        struct ana_job *job = NULL;
        char error[512];
        CHECK(ana_job_open(both, 2, &job, error, sizeof error) == TRC_OK);
        if (!job)
            continue;
        const char *warning = ana_job_warning(job, 0);
        CHECK(ana_job_info(job).ranks == (same ? 2 : 1) && ana_job_info(job).other_jobs == !same);
        CHECK(same || strcmp(ana_job_info(job).name, "b") == 0);
        CHECK(same ? !warning
                   : warning && strstr(warning, "different jobs given: showing ") == warning &&
                         strstr(warning, "/b, left out ") && strstr(warning, "/a (1 file)"));
        ana_job_close(job);
    }
    for (int k = 0; k < 2; k++) {
        snprintf(file, sizeof file, "%s/0.hpctop", path[k]);
        CHECK(unlink(file) == 0 && rmdir(path[k]) == 0);
    }
    folder_remove();
}

/* Two parents spawned a child each at one time, and all four stand in MPI_Barrier: whose child is whose is not known,
 * but each has a file, and siblings are not taken for partners. */
static void unknown_siblings(void)
{
    folder_make("siblings");
    for (int i = 0; i < 4; i++) {
        bool child = i > 1;
        struct tb *tb = child ? tb_new(0, 1) : tb_new(i, 2);
        int64_t began = child ? 800000000 + i * 1000000 : 0;
        tb_clock(tb, 1000000000u + (uint64_t)began, 1700000000000000000u + (uint64_t)began, 1);
        tb_head(tb)->pid = 900000000u + (uint32_t)i;
        tb_head(tb)->world_identity = child ? 100u + (uint32_t)i : 1;
        tb_head(tb)->flags |= child ? TRC_HEAD_SPAWNED : 0;
        tb_between(tb, 10,
                   &(struct tb_between){.identity = child ? 30 : 10 + (uint64_t)i,
                                        .call = child ? TB_CALL_COUNT : TB_COMM_SPAWN,
                                        .ns = 1000000000 - began + i * 1000000,
                                        .here = 1,
                                        .beyond = 1,
                                        .inter = true});
        struct trc_sig barrier = tb_sig(TB_BARRIER);
        barrier.flags = TRC_SIG_COLL;
        barrier.comm = 10;
        tb_barrier(tb, 0, 1500000000 - began, 1500000100 - began, TB_SELF, 1);
        tb_inside(tb, 0, &barrier, 2000000000 - began, 0);
        tb_running(tb, 100000000000 - began);
        folder_write(tb, i);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    CHECK(ana_job_rank(job, 2)->world == 1 && ana_job_rank(job, 3)->world == 2);
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v);
    CHECK(v->state == ANA_VERDICT_HUNG && v->confidence == ANA_POSSIBLE, "%d %d", v->state, v->confidence);
    CHECK(!strstr(v->summary.text, "without a trace file"), "%s", v->summary.text);
    CHECK(strstr(v->summary.text, "a rank of another world, which cannot be told from its siblings, has not come"),
          "%s", v->summary.text);
    ana_job_close(job);
    folder_remove();
}

/* An intercommunicator has one name, whichever side is asked; and a name that was given out stays, also
 * when it is called otherwise later. */
static void one_name(void)
{
    folder_make("name");
    struct tb *tb = tb_new(0, 1);
    tb_barrier(tb, 0, 1000, 2000, TB_SELF, 1);
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    const struct trc_comm parents = {.def = {.identity = 5, .size = 2, .remote_size = 1, .flags = TRC_COMM_INTER}};
    const struct trc_comm children = {.def = {.identity = 5, .size = 1, .remote_size = 2, .flags = TRC_COMM_INTER}};
    const struct trc_comm named = {.name = "rows", .def = {.identity = 5, .size = 2}};
    const char *first = ana_comm_name(job, 5, &parents), *second = ana_comm_name(job, 5, &children);
    CHECK(strcmp(first, second) == 0 && strstr(first, "of size 1+2"), "%s, %s", first, second);
    char copy[64];
    snprintf(copy, sizeof copy, "%s", first);
    CHECK(strcmp(ana_comm_name(job, 5, &named), "rows") == 0);
    CHECK(strcmp(first, copy) == 0, "%s was %s", first, copy);
    CHECK(ana_comm_name(job, 5, &parents) == first, "of each name there is one copy");
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    one_name();
    several_worlds();
    same_name_again();
    folders_of_two_jobs();
    unknown_siblings();
    return check_result();
}
