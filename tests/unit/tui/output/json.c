/* Rows as text are what cJSON prints of the same rows. */
#include "tests/support/check.h"
#include "tui/output/json.h"
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"MPI_Send", "", "a \"quoted\" name\\", "tab\t, line\n, bell\a\b\f\r\x1f\x7f",
                                    "\xc3\xbc"};

enum { ROWS = 200, NAMES = sizeof names / sizeof *names };

static void check_rows(size_t count)
{
    static struct ana_call_stat rows[ROWS];
    static const struct ana_whole whole;
    for (size_t i = 0; i < count; i++) {
        rows[i].name = names[i % NAMES];
        rows[i].times.count = i * 1000003;
        rows[i].time_ns = (int64_t)i * 1234567891;
        rows[i].received = UINT64_MAX / (i + 1);
    }
    cJSON *root = cJSON_CreateObject(), *as_text = cJSON_CreateObject();
    tui_json_rows(root, "calls", ANA_KIND_CALL, rows, sizeof *rows, count, &whole);
    tui_json_text_rows(as_text, "calls", ANA_KIND_CALL, rows, sizeof *rows, count, &whole);
    char *plain = cJSON_Print(root), *text = cJSON_Print(as_text);
    CHECK(plain && text && strcmp(plain, text) == 0, "%zu rows: %.400s, not %.400s", count, text, plain);
    free(plain);
    free(text);
    cJSON_Delete(root);
    cJSON_Delete(as_text);
}

int main(void)
{
    for (size_t count = 0; count < ROWS; count += 1 + count / 3)
        check_rows(count);
    return check_result();
}
