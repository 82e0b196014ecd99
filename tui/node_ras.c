/* NCCL's RAS: a thread in every process of NCCL 2.24 and later, which knows of all of them, also when the GPUs hang.
 * Its text protocol: NCCL's user guide, "RAS". */
#include "tui/node.h"

#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TEXT = 65536, PATIENCE_S = 3 };

static int dial(void)
{
    const char *address = getenv("NCCL_RAS_ADDR");
    char host[256], *port;
    snprintf(host, sizeof host, "%s", address && strchr(address, ':') ? address : "localhost:28028");
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
        struct timeval patience = {PATIENCE_S, 0};
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (connect(fd, a->ai_addr, a->ai_addrlen)) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* Says a line, and hears one; false: no answer, or another one than wanted. */
static bool say(int fd, const char *line, const char *wanted)
{
    char heard[256];
    size_t n = 0;
    if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
        return false;
    while (n + 1 < sizeof heard && recv(fd, heard + n, 1, 0) == 1)
        if (heard[n++] == '\n')
            break;
    heard[n] = 0;
    return strncasecmp(heard, wanted, strlen(wanted)) == 0;
}

bool tui_ras_ask(struct tui_node *out)
{
    char *text = malloc(TEXT);
    int fd = text ? dial() : -1;
    size_t used = 0;
    ssize_t n = 0;
    bool talks = fd >= 0 && say(fd, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL") && say(fd, "TIMEOUT 2\n", "OK") &&
                 send(fd, "STATUS\n", 7, MSG_NOSIGNAL) == 7;
    while (talks && used + 1 < TEXT && (n = recv(fd, text + used, TEXT - 1 - used, 0)) > 0)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    out->ras = talks && used > 0;
    if (out->ras) {
        text[used] = 0;
        out->ras_trouble = tui_ras_summary(text, out->ras_text, sizeof out->ras_text);
    }
    free(text);
    return out->ras;
}

/* One line, without what surrounds it; control characters are not for terminals. */
static void take_line(const char *from, char *out, size_t size)
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

/* The first line of words under a title that is underlined; false: there is none. */
static bool under(const char *text, const char *title, char *out, size_t size)
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
            take_line(line, out, size);
            if (out[strspn(out, " ")])
                return true;
        }
    }
    return false;
}

bool tui_ras_summary(const char *text, char *out, size_t size)
{
    char word[2][32], line[300];
    bool trouble = false, rows = false;
    size_t used = 0;
    out[0] = 0;
    /* A row: number of the group, communicators, nodes, ranks (three ways), status, errors. */
    for (const char *at = text; *at; at = next_line(at)) {
        int group, comms, nodes, ranks;
        if (strncmp(at, "Group", 5) == 0)
            rows = true;
        take_line(at, line, sizeof line);
        if (!rows ||
            sscanf(line, "%d %d %d %*s %d %*s %31s %31s", &group, &comms, &nodes, &ranks, word[0], word[1]) != 6 ||
            !isupper((unsigned char)word[0][0]))
            continue;
        bool fine = strcmp(word[0], "RUNNING") == 0 && strcmp(word[1], "OK") == 0;
        trouble |= !fine;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%d communicator%s of %d ranks %s, %s",
                                     used ? "; " : "", comms, comms == 1 ? "" : "s", ranks, word[0], word[1]);
    }
    static const char *const titles[] = {"Errors", "Warnings"};
    for (int i = 0; i < 2; i++) {
        if (!under(text, titles[i], line, sizeof line))
            continue;
        trouble = true;
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "; " : "", line);
    }
    if (!out[0])
        snprintf(out, size, "it answers, and says nothing of communicators");
    return trouble;
}
