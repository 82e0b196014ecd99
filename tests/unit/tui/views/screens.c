/* Golden screens: each tests/golden/screens/NAME.keys is played on a job whose traces are built, the shown text must be
 * NAME.txt.  REGENERATE=1 writes the texts anew (look at the difference before committing it).
 * The first line of a script says which job (tests/support/screen_job.h describes its traces):
 * "# job ranks=16 steps=1000 running size=80x24", with hung, slow, queued,
 * horovod, gpu, files, unknown, partial, diff, ascii. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/loop.h"
#include "tui/views/views.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (!f)
        return NULL;
    if (getdelim(&text, &size, 0, f) < 0)
        *(text ? text : (text = malloc(1))) = 0;
    fclose(f);
    return text;
}

/* Stands for debug information. */
static const char *line_of(void *context, const struct trc_file *file, const char *module)
{
    (void)context, (void)file;
    return strcmp(module, "nekbone+0x1234") == 0   ? "step.c:88"
           : strcmp(module, "nekbone+0x2345") == 0 ? "exchange.c:41"
                                                   : NULL;
}

static struct screen_job job;

#define MS 1000000ll
#define S  1000000000ll

/* Findings of a diff. */
static struct ana_diff_finding findings[] = {
    {.kind = ANA_PORTION_SEGMENT,
     .from = {"MPI_Send", "exchange.c:41"},
     .to = {"MPI_Allreduce", "step.c:88"},
     .low = true,
     .before_ns = 6e6,
     .after_ns = 8e6,
     .confidence = 0.9999,
     .rank = &(struct ana_rank_id){.rank = 3},
     .ranks = 1},
    {.kind = ANA_PORTION_SEGMENT,
     .side = ANA_DIFF_ONLY_AFTER,
     .from = {"MPI_Send", "exchange+0x40"},
     .to = {"MPI_Recv", "exchange.c:41"},
     .after_ns = 2e5,
     .confidence = 0.9931,
     .region = "halo"},
    {.kind = ANA_PORTION_CALL,
     .from = {"MPI_Allreduce", "step.c:88"},
     .to = {"MPI_Allreduce", "step.c:88"},
     .low = true,
     .follows = true,
     .before_ns = 1e4,
     .after_ns = 2e6,
     .confidence = 0.9999,
     .rank = (struct ana_rank_id[]){{.rank = 0}, {.rank = 1}, {.rank = 2}},
     .ranks = 3},
    {.kind = ANA_PORTION_CALL,
     .from = {"MPI_Send", "exchange+0x40"},
     .to = {"MPI_Send", "exchange+0x40"},
     .machine = true,
     .before_ns = 1e5,
     .after_ns = 1.5e5,
     .confidence = NAN},
};
static const struct ana_diff planted_diff = {
    .run = {{.name = "before", .ranks = 4, .iterations = 999, .iteration_ns = 8e6},
            {.name = "after", .ranks = 4, .iterations = 999, .iteration_ns = 1e7}},
    .finding = findings,
    .findings = sizeof findings / sizeof *findings,
    .compared = 34,
    .looped = true,
    .measured_ns = {8e6, 1e7},
    .change = 0.25,
    .change_confidence = 0.9999,
    .detectable = 0.034,
    .accounts = {.known = true,
                 .run = {{.ns = {[ANA_ACCOUNT_COMPUTE] = 24 * S, [ANA_ACCOUNT_WAIT] = 100 * MS}},
                         {.ns = {[ANA_ACCOUNT_COMPUTE] = 26 * S, [ANA_ACCOUNT_WAIT] = 6100 * MS}}},
                 .culprit = {.from = {"MPI_Send", "exchange.c:41"},
                             .to = {"MPI_Allreduce", "step.c:88"},
                             .rank = {.rank = 3},
                             .ns = {0, 5900 * MS}}}};

/* Stands for this machine's GPUs, so that no thread asks its drivers. */
bool tui_node_sample(const struct ana_job *of, struct tui_node *out)
{
    (void)of;
    if (!job.gpu || job.unknown)
        return false;
    *out = (struct tui_node){
        .gpu_count = 2,
        .gpu = {{"NVIDIA H200", 0.87, 21e9, 20e9, 3e8, 4e6}, {"NVIDIA H200", 0.02, NAN, NAN, 1e6, 1e6}},
        .ras = {.answers = true, .text = "2 communicators of 4 ranks RUNNING, OK"}};
    return true;
}

static struct tui_term script_term;

static struct tui_event wait_and_tick(void *data, int timeout_ms)
{
    struct tui_event event = script_term.ops->wait(data, timeout_ms);
    if (event.kind == TUI_EVENT_NONE)
        screen_job_tick(&still_clock_ns);
    return event;
}

/* Plays a script; returns the shown text (free it), NULL when it cannot be read. */
static char *play(const char *path)
{
    char head[256] = "", *shown = NULL, *option;
    size_t size;
    int cols = 80, rows = 24;
    bool ascii = false, partial = false, diff = false;
    FILE *script = fopen(path, "r"), *out = open_memstream(&shown, &size);
    if (!script || !out || !fgets(head, sizeof head, script))
        return NULL;
    const struct {
        const char *name;
        bool *value;
    } options[] = {{"barrier", &job.barrier}, {"running", &job.running}, {"hung", &job.hung}, {"horovod", &job.horovod},
                   {"slow", &job.slow},       {"queued", &job.queued},   {"gpu", &job.gpu},   {"unknown", &job.unknown},
                   {"files", &job.files},     {"partial", &partial},     {"ascii", &ascii},   {"diff", &diff}};
    job = (struct screen_job){.ranks = 4, .steps = 1000};
    for (char *rest = head; (option = strtok_r(NULL, " \n", &rest));) {
        sscanf(option, "ranks=%d", &job.ranks);
        sscanf(option, "steps=%d", &job.steps);
        sscanf(option, "size=%dx%d", &cols, &rows);
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            *options[i].value |= strcmp(option, options[i].name) == 0;
    }
    struct ana_job *opened = screen_job_open(&job, &still_clock_ns);
    struct tui_app app;
    ana_job_set_line_finder(opened, line_of, NULL);
    still_clock_step = 1;
    while (ana_job_advance(opened, partial) < (partial ? 0.43 : 1))
        ;
    still_clock_step = 0;
    if (!tui_app_init(&app, opened, tui_views) || !tui_term_script(&script_term, script, out, cols, rows, ascii))
        return NULL;
    app.diff = diff ? &planted_diff : NULL;
    struct tui_term_ops ops = *script_term.ops;
    ops.wait = wait_and_tick;
    tui_loop(&app, (struct tui_term){&ops, script_term.data}, false);
    script_term.ops->close(script_term.data);
    tui_app_free(&app);
    folder_remove();
    fclose(script);
    fclose(out);
    for (char *at = shown; (at = strstr(at, "/trace-")); at++) /* the traces' folder, in a warning */
        memset(at + strlen("/trace-"), 'X', 6);
    return shown;
}

/* Figures that follow from what the traces contain, whatever a text has.  tests/support/screen_*.c say why. */
static const struct {
    const char *keys, *line;
} predicted[] = {
    /* 1000 steps of 10 ms: 3 ranks wait 2 ms in 980 steps; two senders are 0.25 ms late in 10. */
    {"views-80x24.keys", "rank 3 is late: computes 8.0 ms between exchange+0x60 and step.c:88, others"},
    {"views-80x24.keys", "late in collective    2.94k   5.88s   14.7%"},
    {"views-80x24.keys", "late sender              10  2.50ms"},
    {"views-80x24.keys", "3 n02     done  \xe2\x80\x93                  \xe2\x80\x93  98.0%  20.4%"},
    {"live.keys", "sent 1s  59.0 MB/s"}, /* 16 ranks send 36864 bytes 100 times a second */
    {"verdict-80x24.keys", "hung for 3 min 12 s: rank 3 has not come to MPI_Allreduce on grid, where 15"},
    {"tall.keys", " of 2000 messages"}, /* 4 ranks send one in each step; half of the steps are in view */
    {"gpu-80x24.keys", "3    54.0%   15.0%    20.0%    12.0%   12.0%   22.0%"},
    {"gpu-80x24.keys", "33.6 MB   373 MB   559 MB   90.0ms   150ms"}, /* bytes in 90 ms; 2 x 3/4 of it on the bus */
    {"horovod-80x24.keys", "3 between cycles      3  42.5ms        42.5      17"}, /* 50 cycles in 17 of 20 steps */
};

static void first_difference(const char *want, const char *got)
{
    int line = 1;
    while (*want && *want == *got) {
        line += *want == '\n';
        want++, got++;
    }
    while (want[-1] != '\n' && line > 1)
        want--, got--;
    printf("  line %d\n  want |%.*s\n  got  |%.*s\n", line, (int)strcspn(want, "\n"), want, (int)strcspn(got, "\n"),
           got);
}

static void compare(const char *folder, const char *keys)
{
    char script[4096], text[4096];
    int stem = (int)(strlen(keys) - strlen(".keys"));
    snprintf(script, sizeof script, "%s/%s", folder, keys);
    snprintf(text, sizeof text, "%s/%.*s.txt", folder, stem, keys);
    char *got = play(script);
    if (getenv("REGENERATE") && got) {
        FILE *f = fopen(text, "w");
        CHECK(f && fputs(got, f) >= 0 && fclose(f) == 0, "%s cannot be written", text);
    }
    char *want = read_all(text);
    bool same = got && want && strcmp(got, want) == 0;
    CHECK(same, "%.*s differs from %s", stem, keys, text);
    for (size_t i = 0; got && i < sizeof predicted / sizeof *predicted; i++)
        CHECK(strcmp(predicted[i].keys, keys) != 0 || strstr(got, predicted[i].line), "%s lacks |%s|", keys,
              predicted[i].line);
    if (!same && got && want)
        first_difference(want, got);
    free(got);
    free(want);
}

int main(void)
{
    const char *top = getenv("TOP");
    char folder[2048];
    struct dirent **names;
    setlocale(LC_ALL, "C.UTF-8");
    setenv("TZ", "UTC", 1);
    unsetenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tests/golden/screens", top ? top : ".");
    int n = scandir(folder, &names, NULL, alphasort), played = 0;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(names[i]->d_name);
        if (length > 5 && strcmp(names[i]->d_name + length - 5, ".keys") == 0) {
            compare(folder, names[i]->d_name);
            played++;
        }
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    CHECK(played, "no scripts in %s", folder);
    return check_result();
}
