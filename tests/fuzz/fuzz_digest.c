/* Any bytes as the digest of a node, and any as the trace that it is applied to.  An input is the size of the digest in
 * four bytes, the digest, whose checksum is put right, and the trace.  With libFuzzer (`make fuzz-run`), or as a
 * program that takes files: the corpus, in `make check`. */
#include "tests/fuzz/fuzz.h"
#include "trace/reader/digest.h"

#include <string.h>
#include <sys/mman.h>

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_digest: %s\n", what);
    abort();
}

static void put_right(unsigned char *bytes, size_t size)
{
    const size_t from = offsetof(struct trc_digest_head, sequence);
    struct trc_digest_head head;
    if (size < sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    if (head.size >= sizeof head && head.size <= size)
        head.checksum = trc_digest_sum(bytes + from, head.size - from, 0);
    memcpy(bytes, &head, sizeof head);
}

static void look_at(const struct trc_file *file)
{
    for (size_t t = 0; t < trc_threads(file); t++) {
        const struct trc_thread *thread = trc_thread(file, t);
        check(thread->inside <= TRC_SIGS && thread->last <= TRC_SIGS, "a signature that cannot be");
        const struct trc_sig *sig = trc_live_sig(file, t, thread->inside);
        check(!sig || trc_call(file, sig->call) != NULL, "a call that cannot be");
    }
    trc_digest_is_incomplete(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t length = 0;
    fuzz_begin();
    if (size < sizeof length)
        return 0;
    memcpy(&length, data, sizeof length);
    data += sizeof length;
    size -= sizeof length;
    length = length < size ? length : (uint32_t)size;
    unsigned char *bytes = malloc(length + 1);
    char path[64], error[512];
    struct trc_node node;
    struct trc_file *file = NULL;
    int fd = memfd_create("fuzz_digest", MFD_CLOEXEC);
    if (!bytes || fd < 0 || write(fd, data + length, size - length) != (ssize_t)(size - length))
        exit(1);
    memcpy(bytes, data, length);
    put_right(bytes, length);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const char *why = trc_node_parse(bytes, length, &node);
    check(!why == (node.rank != NULL), "neither taken nor refused");
    if (!why && trc_open(path, &file, error, sizeof error) == TRC_OK) {
        for (uint32_t i = 0; i < 2 * node.head.ranks; i++)
            if (trc_digest_apply(file, &node, &node.rank[i / 2], i % 2))
                look_at(file);
        trc_refresh(file);
        look_at(file);
        trc_close(file);
    }
    trc_node_free(&node);
    free(bytes);
    close(fd);
    return 0;
}
