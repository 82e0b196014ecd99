#include "interpose/base/oldglibc.h"
#include "interpose/usage/network.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"
#include "interpose/usage/usage.h"

#include <string.h>

#define PORTS      8u
#define WORD_BYTES 4u /* port_xmit_data and port_rcv_data count words of four bytes */

/* ---- Ethernet and TCP ------------------------------------------------------------------------------------------- */

/* "RetransSegs" of the two lines that begin with "Tcp:": names, then numbers in the same order. */
static void read_retransmits(struct trc_usage *now)
{
    char text[4096];
    const char *names = ipo_read_file("/proc/net/snmp", text, sizeof text) ? strstr(text, "\nTcp:") : NULL;
    const char *numbers = names ? strstr(names + 1, "\nTcp:") : NULL;
    const char *name = names ? strstr(names, " RetransSegs") : NULL;
    if (!numbers || !name || name > numbers)
        return;
    for (const char *at = names; at <= name; at++)
        if (*at == ' ')
            numbers += 1 + strcspn(numbers + 1, " ");
    ipo_usage_set(now, TRC_USAGE_RETRANSMITS, ipo_text_number(numbers));
}

/* Adds up the lines "  eth0: bytes packets errors dropped ..", eight numbers received and eight sent. */
static void read_links(struct trc_usage *now)
{
    char text[8192];
    uint64_t sum[16] = {0};
    if (!ipo_read_file("/proc/net/dev", text, sizeof text))
        return;
    for (const char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        next = next ? next + 1 : NULL;
        line += strspn(line, " ");
        const char *colon = strchr(line, ':');
        if (!colon || (next && colon > next) || strncmp(line, "lo:", 3) == 0)
            continue;
        const char *at = colon + 1;
        for (unsigned i = 0; i < 16; i++) {
            at += strspn(at, " ");
            sum[i] += ipo_text_number(at);
            at += strcspn(at, " \n");
        }
    }
    ipo_usage_set(now, TRC_USAGE_LINK_RECEIVED, sum[0]);
    ipo_usage_set(now, TRC_USAGE_LINK_SENT, sum[8]);
    ipo_usage_set(now, TRC_USAGE_LINK_ERRORS, sum[2] + sum[3] + sum[10] + sum[11]);
}

/* ---- InfiniBand ------------------------------------------------------------------------------------------------- */

static char port_path[PORTS][128]; /* "/sys/class/infiniband/mlx5_0/ports/1/counters/" */
static unsigned ports;
static bool looked;

static void add_port(void *device, const char *port)
{
    struct ipo_text path = {.used = 0};
    if (ports == PORTS)
        return;
    ipo_text_add(&path, device);
    ipo_text_add(&path, port);
    ipo_text_add(&path, "/counters/");
    if (path.used < sizeof port_path[0])
        ipo_copy(port_path[ports++], sizeof port_path[0], path.text);
}

static void add_device(void *nothing, const char *device)
{
    (void)nothing;
    struct ipo_text path = {.used = 0};
    ipo_text_add(&path, "/sys/class/infiniband/");
    ipo_text_add(&path, device);
    ipo_text_add(&path, "/ports/");
    ipo_directory(path.text, add_port, path.text);
}

static bool read_port(unsigned port, const char *name, uint64_t *sum)
{
    char text[64];
    struct ipo_text path = {.used = 0};
    ipo_text_add(&path, port_path[port]);
    ipo_text_add(&path, name);
    if (!ipo_read_file(path.text, text, sizeof text))
        return false;
    *sum += ipo_text_number(text);
    return true;
}

static void read_ports(struct trc_usage *now)
{
    uint64_t sent = 0, received = 0, errors = 0, waits = 0;
    if (!looked)
        ipo_directory("/sys/class/infiniband", add_device, NULL);
    looked = true;
    bool any = false;
    for (unsigned i = 0; i < ports; i++) {
        any |= read_port(i, "port_xmit_data", &sent) && read_port(i, "port_rcv_data", &received);
        read_port(i, "symbol_error", &errors);
        read_port(i, "port_rcv_errors", &errors);
        read_port(i, "port_xmit_discards", &errors);
        read_port(i, "port_xmit_wait", &waits);
    }
    if (!any)
        return;
    ipo_usage_set(now, TRC_USAGE_LINK_SENT, now->value[TRC_USAGE_LINK_SENT] + sent * WORD_BYTES);
    ipo_usage_set(now, TRC_USAGE_LINK_RECEIVED, now->value[TRC_USAGE_LINK_RECEIVED] + received * WORD_BYTES);
    ipo_usage_set(now, TRC_USAGE_LINK_ERRORS, now->value[TRC_USAGE_LINK_ERRORS] + errors);
    ipo_usage_set(now, TRC_USAGE_LINK_WAITS, waits);
}

void ipo_network_read(struct trc_usage *now)
{
    read_retransmits(now);
    read_links(now);
    read_ports(now);
}
