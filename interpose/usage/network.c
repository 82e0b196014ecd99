#include "interpose/usage/network.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"
#include "interpose/usage/usage.h"

#include <string.h>

#define PORTS      8u
#define WORD_BYTES 4u /* port_xmit_data and port_rcv_data count words of four bytes */

static void add(struct trc_usage *now, enum trc_usage_field field, uint64_t more)
{
    ipo_usage_set(now, field, now->value[field] + more);
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

/* Returns whether there are ports whose bytes are known. */
static bool read_ports(struct trc_usage *now)
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
        return false;
    add(now, TRC_USAGE_LINK_SENT, sent * WORD_BYTES);
    add(now, TRC_USAGE_LINK_RECEIVED, received * WORD_BYTES);
    add(now, TRC_USAGE_LINK_ERRORS, errors);
    ipo_usage_set(now, TRC_USAGE_LINK_WAITS, waits);
    return true;
}

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

#define INTERFACES    64u
#define TYPE_OF_IPOIB 32u /* ARPHRD_INFINIBAND */

/* Facts of the interfaces that were met: an interface never turns into one of another kind. */
static struct {
    char name[16];
    bool counts;
} interface[INTERFACES];
static unsigned interfaces;

static void find_lower(void *found, const char *name)
{
    *(bool *)found |= strncmp(name, "lower_", 6) == 0;
}

/* Whether the bytes of an interface are its own: a bond, a VLAN or a bridge has the bytes of the interfaces below it,
 * and IP over InfiniBand goes through ports that are read, too. */
static bool is_link(const char *name, bool ports_count)
{
    struct ipo_text path = {.used = 0};
    char text[32];
    bool stacked = false;
    ipo_text_add(&path, "/sys/class/net/");
    ipo_text_add(&path, name);
    ipo_directory(path.text, find_lower, &stacked);
    ipo_text_add(&path, "/type");
    bool over_ports =
        ports_count && ipo_read_file(path.text, text, sizeof text) && ipo_text_number(text) == TYPE_OF_IPOIB;
    return !stacked && !over_ports;
}

static bool counts(const char *name, size_t length, bool ports_count)
{
    char copy[sizeof interface->name];
    if (length >= sizeof copy)
        return true; /* the kernel has no such names */
    memcpy(copy, name, length);
    copy[length] = 0;
    for (unsigned i = 0; i < interfaces; i++)
        if (strcmp(interface[i].name, copy) == 0)
            return interface[i].counts;
    bool is = is_link(copy, ports_count);
    if (interfaces < INTERFACES) {
        ipo_copy(interface[interfaces].name, sizeof copy, copy);
        interface[interfaces++].counts = is;
    }
    return is;
}

/* Adds up the lines "  eth0: bytes packets errors dropped ..", eight numbers received and eight sent. */
static void read_links(struct trc_usage *now, bool ports_count)
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
        if (!counts(line, (size_t)(colon - line), ports_count))
            continue;
        const char *at = colon + 1;
        for (unsigned i = 0; i < 16; i++) {
            at += strspn(at, " ");
            sum[i] += ipo_text_number(at);
            at += strcspn(at, " \n");
        }
    }
    add(now, TRC_USAGE_LINK_RECEIVED, sum[0]);
    add(now, TRC_USAGE_LINK_SENT, sum[8]);
    add(now, TRC_USAGE_LINK_ERRORS, sum[2] + sum[3] + sum[10] + sum[11]);
}

void ipo_network_read(struct trc_usage *now)
{
    read_retransmits(now);
    bool ports_count = read_ports(now);
    read_links(now, ports_count);
}
