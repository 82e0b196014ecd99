/* What NCCL's RAS says, in one line. */
#include "tests/support/check.h"
#include "tui/node.h"

#include <string.h>

#define HEAD                                                                                                           \
    "NCCL version 2.28.9 compiled with CUDA 13.0\nCUDA runtime version 13000, driver version 13000\n\n"                \
    "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"                                \
    "(total)   per node  per process    (total)  (total)\n      4          8            1         32       32\n\n"     \
    "Communicators... (0.00s)\n=============\n\n"                                                                      \
    "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"                                      \
    "    #  in group  per comm  per node  per comm  in group\n"
#define TAIL "\nErrors\n======\n\n%s\nWarnings\n========\n\n%s"

static bool said(const char *text, const char *want, bool trouble)
{
    char out[200];
    bool is = tui_ras_summary(text, out, sizeof out);
    if (strcmp(out, want) != 0)
        printf("%s\n", out);
    return is == trouble && strcmp(out, want) == 0;
}

int main(void)
{
    char text[4096];
    snprintf(text, sizeof text, HEAD "    0         8         4         1         4        32   RUNNING      OK\n" TAIL,
             "", "");
    CHECK(said(text, "8 communicators of 4 ranks RUNNING, OK", false), "all is well");
    snprintf(text, sizeof text,
             HEAD "    0         1         4         7-8       32        32   RUNNING  INCOMPLETE\n"
                  "    1         2         4         1          4         8   INIT         OK\n" TAIL,
             "INCOMPLETE\n  Missing communicator data from 1 job process\n  Process 3487984 on node 172.16.64.213 "
             "managing GPU 5\n",
             "");
    CHECK(said(text, "1 communicator of 32 ranks RUNNING, INCOMPLETE; 2 communicators of 4 ranks INIT, OK; INCOMPLETE",
               true),
          "a process is gone");
    snprintf(text, sizeof text, HEAD "    0         8         4         1         4        32   RUNNING      OK\n" TAIL,
             "", "TIMEOUT\n  Encountered 2 communication timeouts\x1b[2J while gathering data\n");
    CHECK(said(text, "8 communicators of 4 ranks RUNNING, OK; TIMEOUT", true), "a warning");
    CHECK(said("", "it answers, and says nothing of communicators", false), "nothing");
    CHECK(said("Errors\n======\n", "it answers, and says nothing of communicators", false), "a title alone");
    return failures != 0;
}
