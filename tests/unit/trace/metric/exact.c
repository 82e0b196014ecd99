/* Numbers as text are the shortest of six digits and more that tell them, as printf writes them; shares have a base. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "trace/metric/exact.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 20000 };

static uint64_t random_state = 88172645463325252u;
static uint64_t any(void)
{
    return draw_bits(&random_state);
}

static void check_real(double value)
{
    char text[ANA_EXACT], plain[ANA_EXACT];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(plain, sizeof plain, "%.*g", digits, value);
        if (strtod(plain, NULL) == value)
            break;
    }
    const char *exact = ana_exact_real(value, text);
    CHECK(exact && strcmp(exact, plain) == 0, "%s, not %s", exact, plain);
}

static void check_whole(uint64_t bits)
{
    struct ana_metric count = {.unit = ANA_COUNT}, time = {.unit = ANA_NS};
    char text[ANA_EXACT], plain[ANA_EXACT];
    snprintf(plain, sizeof plain, "%" PRIu64, bits);
    const char *exact = ana_exact(&count, (struct ana_value){.type = ANA_UNSIGNED, .integer = bits}, NULL, text);
    CHECK(strcmp(exact, plain) == 0, "%s, not %s", exact, plain);
    int64_t number = (int64_t)bits;
    snprintf(plain, sizeof plain, "%" PRId64, number);
    exact = ana_exact(&count, (struct ana_value){.type = ANA_SIGNED, .number = number}, NULL, text);
    CHECK(strcmp(exact, plain) == 0, "%s, not %s", exact, plain);
    snprintf(plain, sizeof plain, "%" PRId64 ".%09" PRId64, number / 1000000000, number % 1000000000);
    exact = ana_exact(&time, (struct ana_value){.type = ANA_SIGNED, .number = number}, NULL, text);
    CHECK(number < 0 ? !exact : exact && strcmp(exact, plain) == 0, "%s, not %s", exact ? exact : "none", plain);
}

/* Checks that the help of each share names its base as "part / whole"; a confidence is no share. */
static void check_shares(void)
{
    for (const struct ana_metric *m = ana_metrics; m < ana_metrics + ANA_METRICS; m++)
        CHECK(m->unit != ANA_SHARE || m == &ana_metrics[ANA_METRIC_CHANGE_CONFIDENCE] || strstr(m->help, " / "),
              "%s is a share of what: %s", m->title, m->help);
}

int main(void)
{
    check_shares();
    const uint64_t edges[] = {0,         1, 9, 10, 99, 100, 999999999, 1000000000, INT64_MAX, (uint64_t)INT64_MAX + 1,
                              UINT64_MAX};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        check_whole(edges[i]);
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t bits = any(), whole = any() >> any() % 64;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            check_real(value);
        check_real((double)(whole % 1000000000000) / 1e9);
        check_real((double)(any() % 1000) / (double)(1 + any() % 1000));
        check_whole(whole);
    }
    for (int exponent = -1074; exponent < 1024; exponent++) {
        check_real(ldexp(1, exponent));
        check_real(-ldexp(1, exponent));
    }
    char text[ANA_EXACT];
    CHECK(!ana_exact_real(NAN, text) && !ana_exact_real(INFINITY, text), "what is no number is unknown");
    return check_result();
}
