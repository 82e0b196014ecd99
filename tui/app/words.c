#include "tui/app/words.h"
#include "tui/output/inspect.h"

#include <inttypes.h>
#include <string.h>

void tui_words_instant(char *out, size_t size, int64_t at_ns, int64_t step_ns, bool brief)
{
    int digits = 0;
    for (int64_t unit = 1000000000; digits < 9 && step_ns % unit; unit /= 10)
        digits++;
    char fraction[16], clock[ANA_TEXT];
    snprintf(fraction, sizeof fraction, ".%09" PRId64, at_ns % 1000000000);
    fraction[digits ? digits + 1 : 0] = 0;
    if (brief && digits)
        snprintf(out, size, "%s", fraction);
    else
        snprintf(out, size, "%s%s", ana_clock(clock, sizeof clock, at_ns), fraction);
}

void tui_words_state(struct tui_app *app, struct ana_state_at *state, char *first, size_t first_size, char *second,
                     size_t second_size)
{
    char when[48];
    int64_t begin, end;
    size_t n = 0;
    ana_state_at(app->job, app->cursor_rank, app->cursor_ns, state);
    tui_app_range(app, &begin, &end);
    int64_t step = 1;
    while (step < (end - begin) / 200 && step < 1000000000)
        step *= 10;
    tui_words_instant(when, sizeof when, app->cursor_ns, step, false);
    ana_append(first, first_size, &n, "%s rank %s: ", when, TUI_RANK_NAME(app, app->cursor_rank));
    if (n < first_size)
        tui_inspect_doing(app->job, app->cursor_rank, state, first + n, first_size - n);
    tui_inspect_partners(app->job, state, second, second_size);
    n = strlen(second);
    if (state->has_other_end)
        ana_append(second, second_size, &n, " (o goes there)");
}
