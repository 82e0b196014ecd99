/* Trace files that the builder makes, open and on one clock.  FILES, how many at most, is defined before; for one test
 * program each, so everything is here. */
#ifndef TESTS_CLOCKED_FILES_H
#define TESTS_CLOCKED_FILES_H

#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/relations/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/hpctop-files-XXXXXX";
static struct tb *made[FILES];
static struct trc_file *file[FILES];
static struct ana_clock *clock_;

static const char *path_of(size_t i)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%zu.hpctop", folder, i);
    return path;
}

static void write_file(size_t i)
{
    tb_write(made[i], path_of(i));
}

static void open_file(size_t i)
{
    char error[256] = "";
    write_file(i);
    CHECK(trc_open(path_of(i), &file[i], error, sizeof error) == TRC_OK, "%s", error);
    if (!file[i])
        exit(1);
    CHECK(ana_clock_add_file(clock_, file[i]), "clock");
}

static void start(size_t n)
{
    clock_ = ana_clock_new();
    for (size_t i = 0; i < n; i++) {
        made[i] = tb_new((int32_t)i, (int32_t)n);
        strcpy(tb_head(made[i])->boot_id, "one machine");
    }
}

static void stop(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        trc_close(file[i]);
        file[i] = NULL;
        tb_free(made[i]);
        remove(path_of(i));
    }
    ana_clock_free(clock_);
}

#endif
