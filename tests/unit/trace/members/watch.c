/* A rank whose digest is fresh is spared, until somebody looks at it: then its file is read once. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/job.h"
#include "trace/members/members.h"
#include "trace/util/now.h"

int main(void)
{
    folder_make("watch");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = tb_new(r, 2);
        folder_this_process(tb);
        tb_running(tb, 5000);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_watched_node node = {.moved_ns = ana_now_ns()};
    struct ana_watched watched = {.by = &node};
    struct ana_watch watch = {.on = true};
    struct trc_file *file = ana_job_members(job)->process[1].rank.file,
                    *other = ana_job_members(job)->process[0].rank.file;
    trc_refresh(other); /* the verdict may have wanted it */
    trc_refresh(file);
    CHECK(ana_watch_spares(&watch, file, &watched, 1), "its digest is fresh");
    ana_job_request_rank(job, 1);
    CHECK(!ana_watch_spares(&watch, file, &watched, 1), "somebody looks at it");
    CHECK(ana_watch_spares(&watch, other, &watched, 0), "not at the other");
    trc_refresh(file);
    CHECK(ana_watch_spares(&watch, file, &watched, 1), "it was read");
    ana_job_request_rank(job, 2);
    ana_job_request_rank(job, SIZE_MAX);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
