/* The names that slots are searched for: each row of each table is found, by its number; nothing else is. */
#include "interpose/load/names.h"
#include "interpose/mpi/calls.h"
#include "interpose/nccl/nccl.h"
#include "tests/support/check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void check_row(const char *text, enum ipo_names table, int row)
{
    struct ipo_name name = ipo_name_of(text);
    CHECK(name.table == table && name.row == row && name.text == text, "%s: table %d, row %d instead of %d, %d", text,
          name.table, name.row, table, row);
}

/* A name in small letters is no name of MPI, but one of Fortran's spellings. */
static void check_spellings(const char *text, int row)
{
    char other[80];
    size_t n = strlen(text);
    for (size_t i = 0; i <= n; i++)
        other[i] = (char)tolower(text[i]);
    CHECK(ipo_name_spelled(IPO_NAMES_MPI, other, n) == row, "%s", other);
    check_row(other, IPO_NAMES_MPI, -1);
    CHECK(ipo_name_spelled(IPO_NAMES_NCCL, text, n) == -1, "%s of NCCL", text);
    snprintf(other, sizeof other, "P%s", text);
    check_row(other, IPO_NAMES_MPI, -1);
    snprintf(other, sizeof other, "%s_", text);
    check_row(other, IPO_NAMES_MPI, -1);
}

static const char *const libc[] = {
#define LIBC(name) #name,
#include "interpose/load/libc_calls.def"
#undef LIBC
};

int main(void)
{
    for (int i = 0; i < IPO_CALLS; i++) {
        check_row(ipo_calls[i].name, IPO_NAMES_MPI, i);
        check_spellings(ipo_calls[i].name, i);
    }
    for (int i = 0; i < IPO_NCCL_CALLS; i++)
        check_row(ipo_nccl_calls[i].name, IPO_NAMES_NCCL, i);
    for (int i = 0; i < (int)(sizeof libc / sizeof *libc); i++)
        check_row(libc[i], IPO_NAMES_LIBC, i);
    CHECK(ipo_name_of("cuptiSubscribe").table == IPO_NAMES_CUPTI && ipo_name_of("cuptiSubscribe").row >= 0, "CUPTI");
    static const char *const others[] = {"",
                                         "M",
                                         "e",
                                         "exi",
                                         "exit_",
                                         "EXIT",
                                         "sigactio",
                                         "signals",
                                         "__cxa_finalize",
                                         "ncc",
                                         "MP",
                                         "MPI",
                                         "_ZN3MPI4InitEv",
                                         "pmpi_send_",
                                         "getpid",
                                         "PMP"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        check_row(others[i], IPO_NO_NAMES, -1);
    return check_result();
}
