/* Bytes moved by a node's network, from made-up /proc and /sys: no byte is counted twice. */
#include "interpose/usage/network.c" /* not in a library that tests link */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include <stdio.h>

enum { MOST = 12, KINDS = 5 };
enum kind { ETHERNET, BOND, VLAN, BRIDGE, IPOIB };

/* A node: its interfaces, each above some that stand before it or none, and its ports. */
static struct node {
    int count, hca;
    bool counted; /* has ports that can be read */
    struct one {
        char name[16];
        enum kind kind;
        unsigned below; /* a bit each */
        uint64_t received, sent;
    } on[MOST];
} node;

size_t ipo_read_file(const char *path, char *out, size_t size)
{
    char name[64], text[8192] = "";
    size_t n = 0;
    if (strcmp(path, "/proc/net/dev") == 0) {
        n = (size_t)snprintf(text, sizeof text,
                             "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes\n"
                             "    lo: 9999999 1 0 0 0 0 0 0 9999999 1 0 0 0 0 0 0\n");
        for (int i = 0; i < node.count; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%6s: %llu 7 0 0 0 0 0 0 %llu 8 0 0 0 0 0 0\n",
                                  node.on[i].name, (unsigned long long)node.on[i].received,
                                  (unsigned long long)node.on[i].sent);
    } else if (sscanf(path, "/sys/class/net/%63[^/]/type", name) == 1) {
        for (int i = 0; i < node.count; i++)
            if (strcmp(node.on[i].name, name) == 0)
                n = (size_t)snprintf(text, sizeof text, "%d", node.on[i].kind == IPOIB ? 32 : 1);
    } else if (node.counted && strstr(path, "/sys/class/infiniband/mlx5_")) {
        n = (size_t)snprintf(text, sizeof text, "%d",
                             strstr(path, "port_xmit_data")  ? 1000
                             : strstr(path, "port_rcv_data") ? 2000
                                                             : 0);
    }
    n = n < size - 1 ? n : size - 1;
    memcpy(out, text, n);
    out[n] = 0;
    return n;
}

bool ipo_directory(const char *path, void (*found)(void *context, const char *name), void *context)
{
    char name[64], text[64];
    if (strcmp(path, "/sys/class/infiniband") == 0) {
        for (int i = 0; i < node.hca; i++) {
            snprintf(name, sizeof name, "mlx5_%d", i);
            found(context, name);
        }
    } else if (strncmp(path, "/sys/class/infiniband/", 22) == 0) {
        found(context, "1");
    }
    for (int i = 0; i < node.count; i++) {
        if (sscanf(path, "/sys/class/net/%63s", name) != 1 || strcmp(node.on[i].name, name) != 0)
            continue;
        found(context, "statistics");
        for (int k = 0; k < node.count; k++) {
            snprintf(text, sizeof text, "lower_%s", node.on[k].name);
            if (node.on[i].below >> k & 1)
                found(context, text);
            snprintf(text, sizeof text, "upper_%s", node.on[k].name);
            if (node.on[k].below >> i & 1)
                found(context, text);
        }
    }
    return true;
}

/* Makes a node at random: an interface on top of others has moved their bytes. */
static void make_node(uint64_t *state)
{
    static const char *const names[KINDS] = {"eth", "bond", "eth0.", "br", "ib"};
    node = (struct node){.count = 1 + (int)draw(state, MOST), .hca = (int)draw(state, 3), .counted = draw(state, 2)};
    for (int i = 0; i < node.count; i++) {
        struct one *one = &node.on[i];
        one->kind = i ? draw(state, KINDS) : ETHERNET;
        snprintf(one->name, sizeof one->name, "%s%d", names[one->kind], i);
        if (one->kind == ETHERNET || one->kind == IPOIB) {
            one->received = draw(state, 1000000);
            one->sent = draw(state, 1000000);
            continue;
        }
        one->below = 1 + draw(state, (1u << i) - 1);
        for (int k = 0; k < i; k++)
            if (one->below >> k & 1) {
                one->received += node.on[k].received;
                one->sent += node.on[k].sent;
            }
    }
}

int main(void)
{
    uint64_t state = 3;
    for (int i = 0; i < 500; i++) {
        make_node(&state);
        uint64_t words = node.hca && node.counted ? (uint64_t)node.hca : 0;
        uint64_t received = words * 8000, sent = words * 4000;
        for (int k = 0; k < node.count; k++)
            if (node.on[k].kind == ETHERNET || (node.on[k].kind == IPOIB && !words)) {
                received += node.on[k].received;
                sent += node.on[k].sent;
            }
        ports = interfaces = 0;
        looked = false;
        for (int again = 0; again < 2; again++) {
            struct trc_usage now = {0};
            ipo_network_read(&now);
            CHECK(now.value[TRC_USAGE_LINK_RECEIVED] == received && now.value[TRC_USAGE_LINK_SENT] == sent,
                  "node %d: received %llu of %llu", i, (unsigned long long)now.value[TRC_USAGE_LINK_RECEIVED],
                  (unsigned long long)received);
        }
    }
    return check_result();
}
