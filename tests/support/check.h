/* The one check of unit tests.  CHECK(condition) or CHECK(condition, "format", ..) counts what does not hold, prints it
 * and goes on; of many it prints the first.  main returns check_result(): a test that checked nothing has failed, too.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>

enum { CHECKS_PRINTED = 30 };
static _Atomic int checks, failures; /* tests have threads */

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition) && failures++ < CHECKS_PRINTED) {                                                             \
            printf("%s:%d: %s:", __FILE__, __LINE__, #condition);                                                      \
            printf(" " __VA_ARGS__);                                                                                   \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

static inline int check_result(void)
{
    if (!checks)
        printf("nothing was checked\n");
    return failures || !checks;
}

#endif
