/* NCCL's RAS: a thread in each process of NCCL 2.24 and later that knows of all the others, even when GPUs hang.
 * Its text protocol: NCCL's user guide, "RAS". */
#include "tui/sources/node.h"
#include "tui/sources/sentences_impl.h"
#include "trace/util/now.h"

#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TEXT = 65536, PATIENCE_S = 4 };

/* Limits the next call on the socket to the time that is left; false if none is. */
static bool set_time_limit(int fd, double until)
{
    double left = until - (double)ana_now_ns() * 1e-9;
    if (left < 0.001)
        return false;
    struct timeval patience = {(time_t)left, (suseconds_t)((left - (double)(time_t)left) * 1e6)};
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0;
}

const char *tui_ras_address(void)
{
    const char *address = getenv("NCCL_RAS_ADDR");
    return address && strchr(address, ':') ? address : "localhost:28028";
}

static int connect_to_server(double until)
{
    const char *address = tui_ras_address();
    char host[256], *port;
    if (strlen(address) >= sizeof host)
        return -1;
    strcpy(host, address);
    port = strrchr(host, ':');
    *port++ = 0;
    char *name = host;
    if (*name == '[' && host[strlen(host) - 1] == ']') { /* of IPv6 */
        host[strlen(host) - 1] = 0;
        name++;
    }
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (getaddrinfo(name, port, &hints, &found))
        return -1;
    int fd = -1;
    for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && (!set_time_limit(fd, until) || connect(fd, a->ai_addr, a->ai_addrlen))) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

static bool send_line(int fd, double until, const char *line)
{
    return set_time_limit(fd, until) && send(fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line);
}

/* Sends a line and reads one; false if none comes, or another one than `wanted`. */
static bool exchange_line(int fd, double until, const char *line, const char *wanted)
{
    char heard[256];
    size_t n = 0;
    if (!send_line(fd, until, line))
        return false;
    while (n + 1 < sizeof heard && set_time_limit(fd, until) && recv(fd, heard + n, 1, 0) == 1)
        if (heard[n++] == '\n')
            break;
    heard[n] = 0;
    return strncasecmp(heard, wanted, strlen(wanted)) == 0;
}

bool tui_ras_ask(struct tui_ras *out)
{
    double until = (double)ana_now_ns() * 1e-9 + PATIENCE_S;
    char *text = malloc(TEXT);
    int fd = text ? connect_to_server(until) : -1;
    size_t used = 0;
    ssize_t n = 0;
    bool talks = fd >= 0 && exchange_line(fd, until, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL") &&
                 exchange_line(fd, until, "TIMEOUT 2\n", "OK") && send_line(fd, until, "STATUS\n");
    while (talks && used + 1 < TEXT && set_time_limit(fd, until) && (n = recv(fd, text + used, TEXT - 1 - used, 0)) > 0)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    *out = (struct tui_ras){.answers = talks && used > 0};
    if (out->answers) {
        text[used] = 0;
        out->trouble = tui_ras_summary(text, out->text, sizeof out->text);
        out->processes = tui_ras_processes(text);
    }
    free(text);
    return out->answers;
}

/* Copies a line without its indent; control characters become blanks. */
static void copy_line(const char *from, char *out, size_t size)
{
    size_t n = strcspn(from, "\n");
    while (n && isspace((unsigned char)*from))
        from++, n--;
    snprintf(out, size, "%.*s", (int)(n < 400 ? n : 400), from);
    for (char *at = out; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = ' ';
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

/* Copies the first line that is not blank below an underlined title; false if there is none. */
static bool find_line_below(const char *text, const char *title, char *out, size_t size)
{
    for (const char *at = text; *at; at = next_line(at)) {
        if (strncmp(at, title, strlen(title)) != 0)
            continue;
        const char *line = next_line(at);
        if (*line != '=')
            continue;
        for (line = next_line(line); *line; line = next_line(line)) {
            if (*next_line(line) == '=')
                return false; /* the next title */
            copy_line(line, out, size);
            if (out[strspn(out, " ")])
                return true;
        }
    }
    return false;
}

/* A row of the table of communicators. */
struct row {
    int comms, ranks;
    char status[32], errors[32];
};

/* Reads a row: group, communicators, nodes, ranks (three columns), status, errors. */
static bool parse_row(const char *line, struct row *row)
{
    return sscanf(line, "%*d %d %*d %*s %d %*s %31s %31s", &row->comms, &row->ranks, row->status, row->errors) == 4 &&
           isupper((unsigned char)row->status[0]);
}

bool tui_ras_summary(const char *text, char *out, size_t size)
{
    struct row row;
    char line[300];
    bool trouble = false, rows = false;
    size_t used = 0;
    out[0] = 0;
    for (const char *at = text; *at; at = next_line(at)) {
        rows |= strncmp(at, "Group", 5) == 0;
        copy_line(at, line, sizeof line);
        if (!rows || !parse_row(line, &row))
            continue;
        trouble |= strcmp(row.status, "RUNNING") != 0 || strcmp(row.errors, "OK") != 0;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, SAY_COMMUNICATOR_OF_RANKS, used ? "; " : "", row.comms,
                                     row.comms == 1 ? "" : "s", row.ranks, row.status, row.errors);
    }
    static const char *const titles[2] = {"Errors", "Warnings"};
    for (int i = 0; i < 2; i++) {
        if (!find_line_below(text, titles[i], line, sizeof line))
            continue;
        trouble = true;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "; " : "", line);
    }
    if (!out[0])
        snprintf(out, size, SAY_IT_ANSWERS_AND);
    return trouble;
}

unsigned tui_ras_processes(const char *text)
{
    char line[300];
    struct row row;
    int nodes, some, gpus, largest = 0;
    unsigned processes = 0;
    bool rows = false;
    for (const char *at = text; *at; at = next_line(at)) {
        rows |= strncmp(at, "Group", 5) == 0;
        copy_line(at, line, sizeof line);
        /* A row of the summary: nodes, processes per node, GPUs per process, processes, GPUs. */
        if (!rows && sscanf(line, "%d %*s %*s %d %d", &nodes, &some, &gpus) == 3 && some > 0)
            processes += (unsigned)some;
        else if (rows && parse_row(line, &row) && row.ranks > largest)
            largest = row.ranks;
    }
    return processes ? processes : (unsigned)largest;
}
