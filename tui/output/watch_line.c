#include "tui/output/watch_line.h"
#include "tui/output/sentences_impl.h"
#include "trace/util/now.h"
#include "trace/summary/rates.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "tui/output/json.h"
#include "tui/output/report_json.h"
#include <stdlib.h>
#include <string.h>

/* All ranks together. */
struct now {
    size_t states[ANA_RANK_UNKNOWN + 1];
    uint64_t calls, sent, received;
    bool counted; /* counters of all ranks are known */
};

static struct now add_up(const struct ana_job *job)
{
    struct now now = {.counted = true};
    size_t ranks = ana_job_info(job).ranks;
    for (size_t i = 0; i < ranks; i++) {
        const struct ana_rank *rank = ana_job_rank(job, i);
        now.states[rank->state]++;
        now.counted &= rank->counted;
        now.calls += rank->calls;
        now.sent += rank->sent;
        now.received += rank->received;
    }
    return now;
}

static void add_verdict(cJSON *root, const struct ana_job *job)
{
    const struct ana_verdict *v = ana_job_verdict(job);
    tui_json_text(root, "verdict", v ? ana_verdict_state_name(v->state) : NULL);
    tui_json_text(root, "class", v ? ana_verdict_class_name(v->id) : NULL);
    tui_culprits_json(root, job, v);
}

char *tui_watch_json(const struct ana_job *job, const struct ana_summary *summary)
{
    struct ana_job_info info = ana_job_info(job);
    struct now now = add_up(job);
    const struct ana_rates rates = ana_rates_of(job, summary);
    char answer[512];
    cJSON *root = tui_json_document();
    ana_headline(job, summary, NULL, answer, sizeof answer);
    tui_json_ns(root, "time_unix_s", ana_wall_ns());
    tui_json_ns(root, "elapsed_s", info.elapsed_ns);
    tui_json_text(root, "state", ana_state_name(info.state));
    tui_json_integer(root, "ranks", info.ranks);
    tui_json_integer(root, "ranks_run", now.states[ANA_RANK_RUN]);
    tui_json_integer(root, "ranks_wait", now.states[ANA_RANK_IN_MPI]);
    tui_json_integer(root, "ranks_done", now.states[ANA_RANK_DONE]);
    tui_json_integer(root, "ranks_gone", now.states[ANA_RANK_ABORTED] + now.states[ANA_RANK_DEAD]);
    tui_json_real(root, "calls", now.counted ? (double)now.calls : NAN);
    bool known = now.counted && !ana_whole_of(job, summary, NULL).unknown_bytes;
    tui_json_real(root, "bytes_sent", known ? (double)now.sent : NAN);
    tui_json_real(root, "bytes_received", known ? (double)now.received : NAN);
    tui_json_real(root, "calls_per_s", rates.calls);
    tui_json_real(root, "sent_per_s", rates.sent);
    tui_json_real(root, "received_per_s", rates.received);
    tui_json_real(root, "mpi_share", rates.mpi_share);
    tui_json_ns(root, "quiet_s", info.quiet_ns);
    tui_json_integer(root, "lost_records", info.lost_records);
    tui_json_real(root, "analysed", summary->analysed);
    add_verdict(root, job);
    tui_json_text(root, "answer", answer);
    return tui_json_close(root, false);
}

char *tui_watch_text(const struct ana_job *job, const struct ana_summary *summary)
{
    struct ana_job_info info = ana_job_info(job);
    const struct ana_rates rates = ana_rates_of(job, summary);
    char answer[512], line[1024], text[4][ANA_TEXT];
    ana_headline(job, summary, NULL, answer, sizeof answer);
    ana_clock(text[0], sizeof text[0], info.elapsed_ns);
    ana_number(text[1], sizeof text[1], ANA_PER_S, rates.calls, false);
    ana_number(text[2], sizeof text[2], ANA_BYTES_PER_S, rates.sent, false);
    ana_number(text[3], sizeof text[3], ANA_SHARE, rates.mpi_share, false);
    snprintf(line, sizeof line, SAY_WATCH_LINE, text[0], ana_state_name(info.state), text[1], text[2], text[3], answer);
    return strdup(line);
}
