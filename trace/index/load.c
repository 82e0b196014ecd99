#include "trace/index/load.h"
#include "trace/index/keep.h"
#include "trace/job/apart.h"
#include "trace/job/pass.h"
#include "trace/util/aside.h"
#include <stdlib.h>

#define MEMORY 1000u /* bytes for each byte of an index, at most */

#define MOST_UNDER_WAY 0.999 /* the share that is said before all is done */

struct ana_load {
    struct ana_job *job, apart; /* it is taken up into `apart` */
    FILE *file;
    uint64_t begin[ANA_PARTS_OF_INDEX + 1];
    struct ana_budget budget; /* shared by all parts */
    bool loaded[ANA_PARTS_OF_INDEX];
    _Atomic uint64_t read; /* bytes of the file */
    _Atomic bool unwanted; /* no further part is begun */
    struct ana_aside *aside;
};

static void load_part(struct ana_load *l, struct ana_job *into, enum ana_part_of_index part)
{
    struct ana_keep keep;
    struct ana_job_keep k = {.keep = &keep, .job = into};
    if (l->unwanted)
        return;
    ana_keep_load(&keep, l->file, l->begin[part], &l->budget);
    keep.read = &l->read;
    if (!keep.failed)
        ana_job_keep_part(&k, part);
    l->loaded[part] = ana_keep_end(&keep);
}

static void load_beside(void *user, size_t i)
{
    struct ana_load *l = user;
    load_part(l, &l->apart, ANA_PART_LATEST - (enum ana_part_of_index)i);
}

static bool is_whole(const struct ana_load *l)
{
    for (size_t part = 0; part < ANA_PARTS_OF_INDEX; part++)
        if (!l->loaded[part])
            return false;
    return true;
}

static void load_rest(void *user)
{
    struct ana_load *l = user;
    load_part(l, &l->apart, ANA_PART_WHY);
    if (l->loaded[ANA_PART_WHY])
        ana_beside_parts(l->job->beside, ANA_PARTS_OF_INDEX - ANA_PART_WHY - 1, load_beside, l);
    if (is_whole(l))
        l->loaded[ANA_PART_LATEST] = ana_store_find_sites(&l->apart);
}

/* Frees it all, or what there is of it when it could not begin. */
static void free_load(struct ana_load *l)
{
    if (l->apart.upper)
        ana_apart_free(&l->apart);
    fclose(l->file);
    free(l);
}

struct ana_load *ana_load_begin(struct ana_job *job, FILE *file, uint64_t at, uint64_t size)
{
    struct ana_load *l = calloc(1, sizeof *l);
    if (!l) {
        fclose(file);
        return NULL;
    }
    l->job = job;
    l->file = file;
    l->begin[0] = at;
    ana_budget_set(&l->budget, size, MEMORY);
    if (ana_keep_find(file, l->begin, ANA_PARTS_OF_INDEX))
        load_part(l, job, ANA_PART_CLOCK);
    if (l->loaded[ANA_PART_CLOCK] && ana_apart_make(job, &l->apart)) {
        l->aside = ana_aside_begin(load_rest, l);
        ana_job_refresh_state(job); /* renews the state, which the rest does not need; lanes come with it */
        return l;
    }
    ana_load_end(l);
    return NULL;
}

double ana_load_wait(struct ana_load *l, int64_t stop_ns)
{
    if (ana_aside_wait(l->aside, stop_ns))
        return 1;
    /* Not 0: it has begun. */
    double share = (double)(l->read + 1) / (double)(l->begin[ANA_PARTS_OF_INDEX] - l->begin[0]);
    return share < MOST_UNDER_WAY ? share : MOST_UNDER_WAY;
}

/* Moves the loaded parts into the job, whose events need not be read any more. */
static void put_in_place(struct ana_load *l)
{
    struct ana_job *job = l->job;
    ana_apart_swap(job, &l->apart);
    job->upper->devices_name(job);
    ana_time_range_release(job); /* it was begun when nothing else was known */
    ana_bounds_pass_stop(job);
    job->indexed = job->pass.done = job->flushed = true;
    job->revision++;
}

bool ana_load_end(struct ana_load *l)
{
    struct ana_job *job = l->job;
    l->unwanted = true;
    ana_aside_end(l->aside);
    bool whole = is_whole(l);
    if (whole) {
        put_in_place(l);
    } else {
        ana_clock_again(job->clock);
        ana_job_refresh_state(job);
        ana_lanes_start(job, job->lane, true);
    }
    free_load(l);
    return whole;
}
