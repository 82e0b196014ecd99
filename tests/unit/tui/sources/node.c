/* Words of NCCL's RAS, in one line. */
#include "tests/support/check.h"
#include "tui/sources/node.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Speaks as RAS, and then a byte at a time for as long as somebody listens. */
static void *drip(void *at)
{
    int peer = accept(*(int *)at, NULL, NULL);
    bool on = send(peer, "SERVER PROTOCOL 2\nOK\n", 21, MSG_NOSIGNAL) == 21;
    for (; on; usleep(100000))
        on = send(peer, "x", 1, MSG_NOSIGNAL) == 1;
    close(peer);
    return NULL;
}

static void test_drip(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    char address[32];
    pthread_t thread;
    struct tui_ras ras;
    int at = socket(AF_INET, SOCK_STREAM, 0);
    bool there = bind(at, (struct sockaddr *)&a, size) == 0 && listen(at, 1) == 0 &&
                 getsockname(at, (struct sockaddr *)&a, &size) == 0;
    CHECK(there, "a server");
    if (!there)
        return;
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(a.sin_port));
    setenv("NCCL_RAS_ADDR", address, 1);
    pthread_create(&thread, NULL, drip, &at);
    tui_ras_ask(&ras); /* comes back */
    pthread_join(thread, NULL);
    CHECK(ras.processes == 0 && !ras.trouble, "it said nothing: %s", ras.text);
    close(at);
}

int main(void)
{
    char text[4096];
    snprintf(text, sizeof text, HEAD "    0         8         4         1         4        32   RUNNING      OK\n" TAIL,
             "", "");
    CHECK(said(text, "8 communicators of 4 ranks RUNNING, OK", false), "all is well");
    CHECK(tui_ras_processes(text) == 32, "by the summary: %u", tui_ras_processes(text));
    CHECK(tui_ras_processes(strstr(text, "Group")) == 4, "by the communicators: %u",
          tui_ras_processes(strstr(text, "Group")));
    CHECK(tui_ras_processes("") == 0, "nothing");
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
    char address[400]; /* line whose colon is far away */
    memset(address, 'a', sizeof address);
    snprintf(address + 390, 10, ":1");
    setenv("NCCL_RAS_ADDR", address, 1);
    struct tui_ras ras;
    CHECK(!tui_ras_ask(&ras) && !ras.answers, "a long address");
    test_drip();
    return check_result();
}
