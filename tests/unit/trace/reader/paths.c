/* Call paths: which caller is the place, on wrappers, bindings, callers without a name, and damaged definitions. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/reader/reader.h"
#include <string.h>

#define PATH "paths.hpctop"

/* Addresses of the sites that are defined. */
enum {
    SOLVE = 0x1000,
    MAIN = 0x2000,
    HALO = 0x3000,
    FORTRAN = 0x4000,
    MPI4PY = 0x5000,
    UNNAMED = 0x6000,
    COMD = 0x7000,
    REDUCE = 0x8000,
    START = 0x9000,
    STATIC = 0xa000,
    R_BINDING = 0xb000,
    R_MACHINE = 0xc000,
    PYTHON = 0xd000
};
static const uint64_t script = 1ull << 63 | 7; /* a line of Python */

static const struct {
    uint64_t site[TRC_PATH_MOST];
    uint32_t n;
    const char *place; /* function, or else module */
} cases[] = {
    {{SOLVE, MAIN}, 2, "solve+0x10"},
    {{HALO, SOLVE, MAIN}, 3, "solve+0x10"},
    {{FORTRAN, HALO, MAIN}, 3, "main+0x20"},
    {{MPI4PY, script}, 2, "train"},
    {{HALO, FORTRAN}, 2, "bcastParallel+0x30"},       /* nothing else: the innermost */
    {{HALO, UNNAMED, MAIN}, 3, "bcastParallel+0x30"}, /* nobody knows what the second is */
    {{UNNAMED, MAIN}, 2, NULL},
    {{FORTRAN}, 1, "mpi_send_+0x5"},
    {{FORTRAN, START}, 2, "mpi_send_+0x5"},
    {{COMD, MAIN}, 2, "main+0x20"},
    {{STATIC, MAIN}, 2, "libapp.so.1 near bcastParallel+0x99"}, /* no wrapper: another function near it */
    {{FORTRAN, REDUCE, SOLVE, MAIN}, 4, "solve+0x10"},
    {{R_BINDING, R_MACHINE, R_MACHINE, MAIN}, 4, "mpi_allreduce+0xea"}, /* no line of R is known */
    {{SOLVE, R_MACHINE, MAIN}, 3, "solve+0x10"},
    {{FORTRAN, PYTHON}, 2, "mpi_send_+0x5"},
    {{PYTHON, MAIN}, 2, "Py_BytesMain+0x9"},
};
enum { CASES = sizeof cases / sizeof *cases };

static struct tb *build(void)
{
    struct tb *tb = tb_new(0, 1);
    tb_site(tb, SOLVE, "solve+0x10", "/opt/app+0x1000");
    tb_site(tb, MAIN, "main+0x20", "/opt/app+0x2000");
    tb_site(tb, HALO, "bcastParallel+0x30", "/opt/app+0x3000");
    tb_site(tb, FORTRAN, "mpi_send_+0x5", "/usr/lib/libmpi_mpifh.so.40+0x5");
    tb_site(tb, MPI4PY, "", "/opt/mpi4py/MPI.cpython-311-x86_64-linux-gnu.so+0x8d912");
    tb_site(tb, COMD, "sendReceiveParallel+0x38", "/opt/CoMD-mpi+0x7000");
    tb_site(tb, REDUCE, "__mp_MOD_mp_sum_rv+0x40", "/opt/pw.x+0x8000");
    tb_site(tb, START, "_start+0x21", "/opt/app+0x9000");
    tb_site_near(tb, STATIC, "/opt/libapp.so.1+0xa000", "bcastParallel+0x99");
    tb_site(tb, R_BINDING, "mpi_allreduce+0xea", "/usr/lib/R/library/Rmpi/libs/Rmpi.so+0xb000");
    tb_site_near(tb, R_MACHINE, "/usr/lib/R/lib/libR.so+0xff6c2", "Rf_NewFrameConfirm+0x3c32");
    tb_site(tb, PYTHON, "Py_BytesMain+0x9", "/usr/bin/python3.11+0xd000");
    tb_site(tb, script, "train", "train.py:12");
    for (uint32_t i = 0; i < CASES; i++) {
        struct trc_sig sig = tb_sig(TB_SEND);
        tb_path(tb, i + 1, cases[i].site, cases[i].n, i % 2 ? TRC_PATH_WHOLE : TRC_PATH_LOST);
        sig.site = cases[i].site[0];
        sig.path = i + 1;
        tb_event(tb, 0, &sig, 1000 * (i + 1), 1000 * (i + 1) + 500, (struct tb_more){0});
    }
    return tb;
}

static struct trc_file *open_file(struct tb *tb)
{
    char error[256];
    struct trc_file *file = NULL;
    tb_write(tb, PATH);
    CHECK(trc_open(PATH, &file, error, sizeof error) == TRC_OK, "%s", error);
    return file;
}

static void check_case(const struct trc_file *file, const struct trc_sig *sig, uint32_t i)
{
    const char *function, *module;
    const struct trc_path *path = trc_path_of(file, sig->site);
    trc_site(file, sig->site, &function, &module);
    CHECK(cases[i].place ? function && !strcmp(function, cases[i].place) : !function && !module, "case %u: %s", i,
          function ? function : "-");
    CHECK(path && path->n == cases[i].n && !memcmp(path->site, cases[i].site, path->n * sizeof *path->site) &&
              path->end == (i % 2 ? TRC_PATH_WHOLE : TRC_PATH_LOST),
          "case %u: another path", i);
    CHECK(path && trc_site_address(file, sig->site) == path->site[trc_path_place(file, path)] &&
              trc_site_innermost(file, sig->site) == cases[i].site[0],
          "case %u: another address", i);
}

static void test_places(void)
{
    struct tb *tb = build();
    tb_running(tb, 1000 * (CASES + 1));
    struct trc_file *file = open_file(tb);
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint32_t i = 0;
    for (; trc_next(cursor, &record) == TRC_OK; i++)
        check_case(file, record.sig, i);
    CHECK(i == CASES, "%u events", i);
    const struct trc_sig *last = trc_live_sig(file, 0, trc_thread(file, 0)->last);
    CHECK(last, "no last call");
    if (last)
        check_case(file, last, CASES - 1);
    trc_cursor_close(cursor);
    trc_close(file);

    tb_site(tb, UNNAMED, "late+0x1", "/opt/app+0x9"); /* names that come later count for earlier paths */
    file = open_file(tb);
    const char *function, *module;
    trc_site(file, 1ull << 62 | 7, &function, &module);
    CHECK(function && !strcmp(function, "late+0x1"), "a name that came later");
    trc_close(file);
    tb_free(tb);
}

static void put_module(struct tb *tb, uint32_t id, uint64_t begin, uint64_t end, const char *path)
{
    char payload[64];
    memcpy(payload, &end, sizeof end);
    strcpy(payload + sizeof end, path);
    tb_define(tb, TRC_DEF_MODULE, id, 0, begin, payload, sizeof end + strlen(path), strlen(path));
}

static void test_modules(void)
{
    enum { PROGRAM = 0x10000, OLD = 0x20000, NEW = 0x21000, LONG = 0x40000 };
    static const uint64_t site[] = {NEW + 8, OLD + 9, PROGRAM, (uint64_t)3 << TRC_SITE_SHIFT | NEW, LONG, OLD + 0x2000};
    static const char *const place[] = {
        "/opt/new.so+0x8", "/opt/old.so+0x9", "/bin/app+0", "/opt/new.so+0", NULL, NULL};
    struct tb *tb = tb_new(0, 1);
    strcpy(tb_head(tb)->exe, "/bin/app");
    put_module(tb, 1, PROGRAM, OLD, "");
    put_module(tb, 2, OLD, OLD + 0x2000, "/opt/old.so");
    put_module(tb, 3, NEW, OLD + 0x2000, "/opt/new.so");
    put_module(tb, TRC_MODULES_MOST + 1, LONG, LONG + 1, "/opt/too.many");
    tb_define(tb, TRC_DEF_MODULE, 5, 0, LONG, place, 32, 32); /* no room for text and end */
    tb_path(tb, 1, site, sizeof site / sizeof *site, TRC_PATH_WHOLE);
    struct trc_file *file = open_file(tb);
    const char *function, *module;
    for (size_t i = 0; i < sizeof site / sizeof *site; i++) {
        trc_site(file, site[i], &function, &module);
        CHECK(!function && (place[i] ? module && !strcmp(module, place[i]) : !module), "site %zu: %s", i,
              module ? module : "-");
    }
    CHECK(trc_damage(file, 1) && !trc_damage(file, 2), "two of them are damage");
    trc_close(file);
    tb_site(tb, NEW + 8, "named+0x1", "/opt/app+0x9");
    file = open_file(tb);
    trc_site(file, NEW + 8, &function, &module);
    CHECK(function && !strcmp(function, "named+0x1"), "a name that came later");
    trc_close(file);
    tb_free(tb);
}

static void test_damage(void)
{
    static const uint64_t site[TRC_PATH_MOST + 1] = {SOLVE, MAIN};
    struct tb *tb = tb_new(0, 1);
    tb_path(tb, 1, site, TRC_PATH_MOST + 1, TRC_PATH_WHOLE);
    tb_path(tb, 2, site, 0, TRC_PATH_WHOLE);
    tb_define(tb, TRC_DEF_PATH, 3, TRC_PATH_MOST, 1, site, 8, 0);
    tb_define(tb, TRC_DEF_PATH, 4, 1, UINT64_MAX, site, 8, 0);
    struct trc_sig sig = tb_sig(TB_SEND);
    sig.site = SOLVE;
    for (uint32_t i = 1; i < 6; i++) {
        sig.path = i;
        tb_event(tb, 0, &sig, 1000 * i, 1000 * i + 1, (struct tb_more){0});
    }
    struct trc_file *file = open_file(tb);
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    for (uint32_t i = 1; trc_next(cursor, &record) == TRC_OK; i++)
        CHECK((trc_path_of(file, record.sig->site) != NULL) == (i == 4) &&
                  trc_site_address(file, record.sig->site) == SOLVE,
              "path %u", i);
    CHECK(trc_damage(file, 2) && !trc_damage(file, 3), "three of them are damage");
    CHECK(!trc_path_of(file, 1ull << 62) && !trc_path_of(file, UINT64_MAX) && !trc_path_of(file, SOLVE), "no paths");
    trc_cursor_close(cursor);
    trc_close(file);
    tb_free(tb);
}

int main(void)
{
    test_places();
    test_modules();
    test_damage();
    return check_result();
}
