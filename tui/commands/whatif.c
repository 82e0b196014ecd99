/* hpctop whatif [--json] [--network FACTOR] [--without-delay LIST] [--ranks N] DIR..: how long the run would take if it
 * were otherwise.  SimGrid replays it as it was, and changed; what it measures of the first tells how far it can be
 * believed. */
#include "tui/commands/command.h"
#include "tui/commands/nearest.h"
#include "tui/commands/replay.h"
#include "trace/export/export.h"
#include "trace/export/ti.h"
#include "trace/job/window.h"
#include "trace/session/session.h"
#include "trace/util/numfmt.h"
#include "tui/output/json.h"
#include "tui/sources/lines.h"

#include <errno.h>
#include <getopt.h>
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BELIEVED 0.1 /* the replay of what was differs from it by no more */

/* What was typed. */
struct wanted {
    double faster;       /* 1: as it was */
    const char *level;   /* ranks; NULL: none */
    unsigned long ranks; /* 0: as many as there were */
    bool json;
};

/* What came of it. */
struct answer {
    double was_s, replayed_s, changed_s;
    struct ana_ti was;
    struct ana_ti_network network;
};

/* Writes the actions of the job, as they were or changed, and replays them.  False, with a line in `error`. */
static bool replay(struct ana_job *job, struct tui_replay *place, struct ana_ti *ti,
                   const struct ana_ti_network *network, double faster, double *seconds, char *error, size_t size)
{
    struct ana_export ask = {.format = "ti",
                             .out = tui_replay_file(place, TUI_REPLAY_ACTIONS),
                             .part = {.begin_ns = INT64_MIN, .end_ns = INT64_MAX},
                             .ti = ti};
    char options[4096];
    if (!ana_export(job, &ask, error, size))
        return false;
    size_t hosts = ti->ranks * (ti->copies > 1 ? ti->copies : 1);
    ana_ti_options(network, options, sizeof options);
    if (!ana_ti_platform(network, faster, hosts, tui_replay_file(place, TUI_REPLAY_PLATFORM))) {
        snprintf(error, size, "cannot write %s: %s", tui_replay_file(place, TUI_REPLAY_PLATFORM), strerror(errno));
        return false;
    }
    return tui_replay_run(place, hosts, options, seconds, error, size);
}

static const char *network_words(const struct ana_ti_network *n, char *out, size_t size)
{
    char latency[ANA_TEXT], rate[ANA_TEXT];
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    ana_number(latency, sizeof latency, ANA_NS, n->latency_ns, utf8);
    ana_number(rate, sizeof rate, ANA_BYTES_PER_S, 1e9 / n->ns_per_byte, utf8);
    if (n->messages)
        snprintf(out, size, "latency %s, %s, by %llu messages", latency, rate, (unsigned long long)n->messages);
    else
        snprintf(out, size, "latency %s by collectives; no message shows the bandwidth, %s is a guess", latency, rate);
    return out;
}

static double off_by(const struct answer *a)
{
    return a->replayed_s / a->was_s - 1;
}

static void print_answer(const struct answer *a)
{
    char words[256];
    double change = a->changed_s / a->replayed_s;
    printf("it took    %.6g s, from MPI_Init to MPI_Finalize\n", a->was_s);
    printf("replayed   %.6g s, %+.1f %%: %s\n", a->replayed_s, 100 * off_by(a),
           network_words(&a->network, words, sizeof words));
    printf("changed    %.6g s\n", a->changed_s);
    printf("it would   take %.6g s, %+.1f %%\n", a->was_s * change, 100 * (change - 1));
    if (a->was.left_out)
        printf("left out   %llu messages and collectives of which partners or kind are not known\n",
               (unsigned long long)a->was.left_out);
    if (fabs(off_by(a)) > BELIEVED)
        printf("do not rely on it: the replay of what was is not like it\n");
}

static void print_json(const struct answer *a)
{
    cJSON *root = tui_json_document();
    tui_json_real(root, "was_s", a->was_s);
    tui_json_real(root, "replayed_s", a->replayed_s);
    tui_json_real(root, "changed_s", a->changed_s);
    tui_json_real(root, "would_take_s", a->was_s * a->changed_s / a->replayed_s);
    tui_json_real(root, "change", a->changed_s / a->replayed_s - 1);
    tui_json_real(root, "replay_error", off_by(a));
    cJSON_AddBoolToObject(root, "reliable", fabs(off_by(a)) <= BELIEVED);
    tui_json_integer(root, "left_out", a->was.left_out);
    cJSON *network = cJSON_AddObjectToObject(root, "network");
    tui_json_real(network, "latency_s", a->network.latency_ns / 1e9);
    tui_json_real(network, "bandwidth", 1e9 / a->network.ns_per_byte);
    tui_json_integer(network, "messages", a->network.messages);
    char *text = cJSON_Print(root);
    if (text)
        puts(text);
    free(text);
    cJSON_Delete(root);
}

/* Reads what is to be changed.  False, with a line in `error`: the job does not have it. */
static bool read_change(const struct ana_job *job, const struct wanted *wanted, struct ana_ti *ti, uint8_t *level,
                        char *error, size_t size)
{
    size_t there = ana_job_info(job).ranks;
    const char *list = wanted->level && strncmp(wanted->level, "rank:", 5) == 0 ? wanted->level + 5 : wanted->level;
    if (wanted->ranks && (wanted->ranks < there || wanted->ranks % there || wanted->ranks > 1000000)) {
        snprintf(error, size, "--ranks takes a multiple of the %zu ranks that there are", there);
        return false;
    }
    ti->copies = wanted->ranks ? (unsigned)(wanted->ranks / there) : 1;
    if (list && !ana_ranks_of_text(job, list, level, error, size))
        return false;
    ti->level = list ? level : NULL;
    return true;
}

static int whatif_job(struct ana_job *job, struct tui_replay *place, const struct wanted *wanted)
{
    char error[512] = "out of memory";
    struct answer a = {0};
    struct ana_ti changed = {0};
    uint8_t *level = calloc(ana_job_info(job).ranks + 1, 1);
    bool done = level && read_change(job, wanted, &changed, level, error, sizeof error) &&
                ana_ti_measure(job, &a.network) &&
                replay(job, place, &a.was, &a.network, 1, &a.replayed_s, error, sizeof error) &&
                replay(job, place, &changed, &a.network, wanted->faster, &a.changed_s, error, sizeof error);
    free(level);
    a.was_s = (double)(a.was.end_ns - a.was.begin_ns) / 1e9;
    if (done && !(a.was_s > 0 && a.replayed_s > 0)) {
        snprintf(error, sizeof error, "no rank was seen between MPI_Init and MPI_Finalize");
        done = false;
    }
    if (!done)
        return tui_input_error("%s", error);
    if (wanted->json)
        print_json(&a);
    else
        print_answer(&a);
    return tui_finish(TUI_EXIT_OK);
}

static int whatif(const char *const *folders, int n, const struct wanted *wanted)
{
    char error[512];
    struct ana_job *job;
    struct tui_replay *place;
    if (ana_job_open(folders, (size_t)n, &job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    tui_lines_use(job, TUI_LINES_PATIENCE);
    bool ended = ana_job_info(job).state == ANA_FINISHED;
    place = ended ? tui_replay_open(error, sizeof error) : NULL;
    if (!ended)
        snprintf(error, sizeof error, "the job did not come to its end: what it would have done is not known");
    int status = place ? whatif_job(job, place, wanted) : tui_input_error("%s", error);
    tui_replay_close(place);
    ana_job_close(job);
    return status;
}

static bool parse_factor(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return *text && (!*end || strcmp(end, "x") == 0) && *out >= 1e-6 && *out <= 1e6;
}

static bool parse_ranks(const char *text, unsigned long *out)
{
    char *end;
    *out = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && *out > 0;
}

int tui_command_whatif(int argc, char **argv)
{
    static const struct option names[] = {{"network", required_argument, NULL, 'n'},
                                          {"without-delay", required_argument, NULL, 'd'},
                                          {"ranks", required_argument, NULL, 'r'},
                                          {"json", no_argument, NULL, 'j'},
                                          {0}};
    struct wanted wanted = {.faster = 1};
    bool any = false;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        any |= option != 'j';
        if (option == 'd')
            wanted.level = optarg;
        else if (option == 'j')
            wanted.json = true;
        else if (option == 'n' && !parse_factor(optarg, &wanted.faster))
            return tui_usage_error("whatif", "%s is not how many times as fast, such as 2x", optarg);
        else if (option == 'r' && !parse_ranks(optarg, &wanted.ranks))
            return tui_usage_error("whatif", "%s is not a number of ranks", optarg);
        else if (option != 'n' && option != 'r')
            return tui_unknown_option("whatif", argv[optind - 1]);
    }
    if (!any)
        return tui_usage_error("whatif", "whatif needs --network, --without-delay or --ranks");
    if (optind == argc)
        return tui_usage_error("whatif", "whatif needs a trace folder");
    return whatif((const char *const *)argv + optind, argc - optind, &wanted);
}
