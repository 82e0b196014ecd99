/* Tables as CSV: quotes, unknown values, and the same values as in JSON. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/metric/csv.h"
#include "tui/output/json.h"
#include <stdlib.h>
#include <string.h>

static char *csv_of(enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                    const struct ana_whole *whole)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    ana_csv_rows(out, kind, rows, size, count, whole);
    fclose(out);
    return text;
}

static void test_quotes(void)
{
    struct ana_whole whole = {0};
    struct ana_collective row = {.name = "MPI_Bcast",
                                 .comm_name = "rows, the \"first\"",
                                 .instances = UINT64_MAX,
                                 .skew_p50_ns = 1.5e9,
                                 .skew_p99_ns = NAN,
                                 .skew_max_ns = 2e9,
                                 .lost_ns = -1,
                                 .last_index = SIZE_MAX,
                                 .last_share = 0.1};
    char *text = csv_of(ANA_KIND_COLLECTIVE, &row, sizeof row, 1, &whole);
    const char *end = strstr(text, "\r\n");
    CHECK(end && strncmp(text, "name,place,communicator,instances,", 34) == 0, "keys: %s", text);
    CHECK(end && strncmp(end + 2, "MPI_Bcast,,\"rows, the \"\"first\"\"\",18446744073709551615,", 54) == 0, "row: %s",
          text);
    CHECK(end && strstr(end, ",1.5,,2,,,0.1\r\n"), "what is not known is empty: %s", text);
    free(text);
    text = csv_of(ANA_KIND_COLLECTIVE, &row, sizeof row, 0, &whole);
    CHECK(strstr(text, "\r\n") == text + strlen(text) - 2, "no rows: the keys alone");
    free(text);
}

/* No field of the rows has a comma in it. */
static void compare(const char *what, enum ana_metric_kind kind, const void *rows, size_t size, size_t count,
                    const struct ana_whole *whole)
{
    char *csv = csv_of(kind, rows, size, count, whole), *rest = csv, *key_rest, *keys = strsep(&rest, "\r");
    cJSON *root = cJSON_CreateObject();
    tui_json_rows(root, "rows", kind, rows, size, count, whole);
    char *text = cJSON_PrintUnformatted(root);
    for (size_t i = 0; i < count; i++) {
        char *line = strsep(&rest, "\r") + 1, *names = strdup(keys), object[1024] = "{";
        key_rest = names;
        for (char *field; (field = strsep(&line, ","));) {
            size_t n = strlen(object);
            const char *key = strsep(&key_rest, ",");
            bool number = strchr("-0123456789", *field) && strncmp(field, "0x", 2) != 0; /* a place may be an address */
            bool words = *field && !number && strcmp(field, "true") && strcmp(field, "false");
            snprintf(object + n, sizeof object - n, words ? "%s\"%s\":\"%s\"" : "%s\"%s\":%s", n > 1 ? "," : "", key,
                     *field ? field : "null");
        }
        CHECK(!key_rest, "%s: a row has fewer fields than there are keys", what);
        CHECK(strstr(text, object), "%s: JSON has no %s}: %s", what, object, text);
        free(names);
    }
    cJSON_free(text);
    cJSON_Delete(root);
    free(csv);
}

static void test_same_as_json(void)
{
    folder_make("csv");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    struct ana_whole whole = ana_whole_of(job, &s, NULL);
    CHECK(s.call_count == 3 && s.pair_count == 1 && s.wait_count == 2);
    compare("calls", ANA_KIND_CALL, s.calls, sizeof *s.calls, s.call_count, &whole);
    compare("pairs", ANA_KIND_PAIR, s.pairs, sizeof *s.pairs, s.pair_count, &whole);
    compare("collectives", ANA_KIND_COLLECTIVE, s.collectives, sizeof *s.collectives, s.collective_count, &whole);
    compare("waits", ANA_KIND_WAIT, s.waits, sizeof *s.waits, s.wait_count, &whole);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    test_quotes();
    test_same_as_json();
    return check_result();
}
