#include "tui/output/openmetrics.h"
#include "trace/metric/exact.h"
#include "trace/metric/metric.h"
#include "trace/util/text.h"
#include "trace/verdict/verdict.h"
#include <string.h>

static double seconds(int64_t ns)
{
    return ns < 0 ? NAN : (double)ns / 1e9;
}

/* Returns a metric's value, times in seconds; NAN for a lower bound, too: a sample has no mark for that. */
static double exact(const struct ana_metric *metric, const void *row, const struct ana_whole *whole)
{
    struct ana_value value = ana_metric_value(metric, row, whole);
    double number = ana_value_number(value) / (metric->unit == ANA_NS ? 1e9 : 1);
    return value.at_least ? NAN : number;
}
#define OF(id) exact(&ana_metrics[ANA_METRIC_##id], row, whole)

/* Writes a label behind a '{' or a comma. */
static void put_label(FILE *out, char before, const char *name, const char *text)
{
    size_t left = strlen(text);
    fprintf(out, "%c%s=\"", before, name);
    while (left) {
        size_t n = trc_text_char(text, left);
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fwrite(n ? text : "?", 1, n ? n : 1, out);
        text += n ? n : 1;
        left -= n ? n : 1;
    }
    fputc('"', out);
}

static void put_head(FILE *out, const char *name, const char *type, const char *unit, const char *help)
{
    fprintf(out, "# TYPE %s %s\n", name, type);
    if (*unit)
        fprintf(out, "# UNIT %s %s\n", name, unit);
    fprintf(out, "# HELP %s %s\n", name, help);
}

/* Begins a sample: its name, and the label that all have. */
static void begin_sample(FILE *out, const struct ana_job_info *info, const char *name, const char *type)
{
    fprintf(out, "%s%s", name, strcmp(type, "counter") == 0 ? "_total" : "");
    put_label(out, '{', "job_name", info->name);
}

static void end_sample(FILE *out, double value)
{
    char text[ANA_EXACT];
    fprintf(out, "} %s\n", ana_exact_real(value, text));
}

static void put_rank_labels(FILE *out, const struct ana_rank *rank)
{
    char text[32];
    snprintf(text, sizeof text, "%d", rank->rank);
    put_label(out, ',', "rank", text);
    snprintf(text, sizeof text, "%u", rank->world);
    put_label(out, ',', "world", text);
    put_label(out, ',', "host", rank->host);
}

/* Puts the texts: one sample that is always 1. */
static void put_info(FILE *out, const struct ana_job_info *info)
{
    put_head(out, "hpctop_job", "info", "", "what the job is");
    begin_sample(out, info, "hpctop_job_info", "info");
    const char *labels[][2] = {
        {"id", info->id}, {"batch", info->batch}, {"mpi", info->mpi}, {"command", info->command}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        put_label(out, ',', labels[i][0], labels[i][1]);
    end_sample(out, 1);
}

/* Puts a family of states: the one that holds is 1. */
static void put_states(FILE *out, const struct ana_job_info *info, const struct ana_verdict *verdict)
{
    put_head(out, "hpctop_job_state", "stateset", "", "what the job is doing");
    for (enum ana_state state = ANA_RUNNING; state <= ANA_HUNG; state++) {
        begin_sample(out, info, "hpctop_job_state", "stateset");
        put_label(out, ',', "hpctop_job_state", ana_state_name(state));
        end_sample(out, state == info->state);
    }
    if (!verdict)
        return;
    put_head(out, "hpctop_job_verdict", "stateset", "", "what is the matter with it");
    for (enum ana_verdict_state state = ANA_VERDICT_HEALTHY; state <= ANA_VERDICT_UNKNOWN; state++) {
        begin_sample(out, info, "hpctop_job_verdict", "stateset");
        put_label(out, ',', "hpctop_job_verdict", ana_verdict_state_name(state));
        end_sample(out, state == verdict->state);
    }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Puts a sample of a rank, a call or (both NULL) the job, unless its value is unknown. */
static void put_sample(FILE *out, const struct ana_job_info *info, const char *name, const char *type,
                       const struct ana_rank *rank, const char *call, double value)
{
    if (!isfinite(value))
        return;
    begin_sample(out, info, name, type);
    if (rank)
        put_rank_labels(out, rank);
    if (call)
        put_label(out, ',', "call", call);
    end_sample(out, value);
}

static void put_families(FILE *out, const struct ana_job_info *info, const struct ana_whole *whole)
{
    const struct ana_summary *s = whole->summary;
#define JOB(family, type, unit, value, help)                                                                           \
    put_head(out, family, type, unit, help);                                                                           \
    put_sample(out, info, family, type, NULL, NULL, value);
#define RANK(family, type, unit, value, help)                                                                          \
    put_head(out, family, type, unit, help);                                                                           \
    for (size_t i = 0; i < s->rank_count; i++) {                                                                       \
        const struct ana_rank *rank = ana_job_rank(whole->job, s->ranks[i].index);                                     \
        const struct ana_rank_row *row = &(struct ana_rank_row){rank, &s->ranks[i]};                                   \
        put_sample(out, info, family, type, rank, NULL, value);                                                        \
    }
#define CALL(family, type, unit, value, help)                                                                          \
    put_head(out, family, type, unit, help);                                                                           \
    for (const struct ana_call_stat *row = s->calls; row < s->calls + s->call_count; row++)                            \
        put_sample(out, info, family, type, NULL, row->name, value);
#include "tui/output/openmetrics.def"
}

void tui_openmetrics(const struct ana_job *job, const struct ana_summary *s, FILE *out)
{
    struct ana_job_info info = ana_job_info(job);
    const struct ana_whole whole = ana_whole_of(job, s, NULL);
    put_info(out, &info);
    put_states(out, &info, ana_job_verdict(job));
    put_families(out, &info, &whole);
    fputs("# EOF\n", out);
}
