#include "interpose/load/modules.h"
#include "interpose/base/safe_read.h"
#include "trace/writer/system.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#define MODULES 1024u

static struct ipo_module module[MODULES];
static unsigned modules;

static uint64_t parse_hex(const char **at)
{
    uint64_t value = 0;
    for (;; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 16;
        if (digit > 15)
            return value;
        value = value * 16 + digit;
    }
}

struct mapping {
    uint64_t begin, end, offset;
    bool code;
    const char *path; /* path of the file, or a name in brackets; NULL: none */
};

/* "begin-end rwxp offset dev inode   path" */
static struct mapping parse_line(const char *at)
{
    struct mapping m = {.begin = parse_hex(&at)};
    at += *at == '-';
    m.end = parse_hex(&at);
    m.code = strlen(at) >= 6 && at[3] == 'x';
    at += strnlen(at, 6);
    m.offset = parse_hex(&at);
    m.path = strpbrk(at, "/[");
    return m;
}

static bool add_mapping(const struct mapping *m, void *unused)
{
    (void)unused;
    const char *path = m->path;
    struct ipo_module *last = modules ? &module[modules - 1] : NULL;
    bool named = path && (*path == '/' || !strcmp(path, "[vdso]"));
    /* A mapping of a file's beginning is kept as the last entry until its code is found. */
    if (named && last && m->offset && !strncmp(last->path, path, sizeof last->path - 1)) {
        last->end = m->end;
    } else if (named && (last == NULL || last->code_end || modules < MODULES)) {
        if (last && !last->code_end)
            modules--;
        if (modules == MODULES)
            return true;
        last = &module[modules++];
        memset(last, 0, sizeof *last);
        last->begin = m->begin - m->offset;
        last->end = m->end;
        size_t n = strnlen(path, sizeof last->path - 1);
        memcpy(last->path, path, n);
    } else {
        return true;
    }
    if (m->code && !last->code_end)
        last->code_begin = m->begin;
    if (m->code)
        last->code_end = m->end;
    return true;
}

/* Calls `take` with each line of the process's maps until it returns false.  `buffer` is the caller's. */
static void read_lines(char *buffer, size_t size, bool (*take)(const struct mapping *m, void *with), void *with)
{
    int fd = trc_sys_open("/proc/self/maps");
    size_t used = 0;
    ssize_t n = fd >= 0 ? trc_sys_read(fd, buffer, size - 1) : 0;
    if (n <= 0) { /* the main thread has left */
        if (fd >= 0)
            trc_sys_close(fd);
        fd = trc_sys_open("/proc/thread-self/maps"); /* Linux 3.17 */
        n = fd >= 0 ? trc_sys_read(fd, buffer, size - 1) : 0;
    }
    for (bool more = true; more && n > 0; n = more ? trc_sys_read(fd, buffer + used, size - 1 - used) : 0) {
        used += (size_t)n;
        buffer[used] = 0;
        char *at = buffer;
        for (char *end; more && (end = strchr(at, '\n')); at = end + 1) {
            *end = 0;
            const struct mapping m = parse_line(at);
            more = take(&m, with);
        }
        used -= (size_t)(at - buffer);
        memmove(buffer, at, used);
        more &= used < size - 1; /* no line is as long as this */
    }
    if (fd >= 0)
        trc_sys_close(fd);
}

void ipo_modules_read(void)
{
    static char buffer[65536];
    modules = 0;
    read_lines(buffer, sizeof buffer, add_mapping, NULL);
    if (modules && !module[modules - 1].code_end)
        modules--;
}

struct mapped_search {
    uint64_t address;
    struct ipo_mapped *out;
};

/* The mappings of a file follow one another.  Between them may be memory without a file: parts moved to huge pages. */
static bool match_mapping(const struct mapping *m, void *with)
{
    struct mapped_search *search = with;
    struct ipo_mapped *out = search->out;
    const bool past = m->begin > search->address, file = m->path && *m->path == '/';
    if (file && !strncmp(m->path, out->path, sizeof out->path - 1)) {
        out->end = m->end;
    } else if (file && !past) {
        *out = (struct ipo_mapped){.base = m->begin - m->offset, .end = m->end};
        memcpy(out->path, m->path, strnlen(m->path, sizeof out->path - 1));
    }
    return !past;
}

bool ipo_mapped_at(uint64_t address, struct ipo_mapped *out)
{
    char buffer[8192];
    *out = (struct ipo_mapped){0};
    struct mapped_search search = {address, out};
    read_lines(buffer, sizeof buffer, match_mapping, &search);
    return address - out->base < out->end - out->base;
}

bool ipo_module_table(struct ipo_module *m, uint64_t header)
{
    struct {
        uint8_t version, frame_encoding, count_encoding, table_encoding;
        int32_t frame;
        uint32_t count;
    } head;
    if (m->pinned)
        memcpy(&head, (const void *)(uintptr_t)header, sizeof head);
    else if (!ipo_safe_read(header, &head, sizeof head))
        return false;
    /* The form that linkers write: 4-byte pointer and count, a table of pairs relative to the header. */
    if (head.version != 1 || (head.frame_encoding & 0x0f) != 0x0b || head.count_encoding != 0x03 ||
        head.table_encoding != 0x3b)
        return false;
    m->table = header + sizeof head;
    m->table_base = header;
    m->table_count = head.count;
    return true;
}

/* Finds .eh_frame_hdr in memory, by the program headers. */
static void find_table(struct ipo_module *m)
{
    ElfW(Ehdr) elf;
    ElfW(Phdr) headers[32];
    m->looked = true;
    if (!ipo_safe_read(m->begin, &elf, sizeof elf) || memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_phnum == 0)
        return;
    size_t count = elf.e_phnum < 32 ? elf.e_phnum : 32;
    if (!ipo_safe_read(m->begin + elf.e_phoff, headers, count * sizeof headers[0]))
        return;
    const ElfW(Phdr) *unwind = NULL, *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_GNU_EH_FRAME)
            unwind = &headers[i];
        if (headers[i].p_type == PT_LOAD && !first)
            first = &headers[i];
    }
    if (!first)
        return;
    m->bias = m->begin - (first->p_vaddr - first->p_offset);
    if (!unwind)
        return;
    ipo_module_table(m, unwind->p_vaddr + m->bias);
}

struct ipo_module *ipo_module_of(uint64_t address)
{
    for (unsigned i = 0; i < modules; i++)
        if (module[i].code_begin <= address && address < module[i].code_end) {
            if (!module[i].looked)
                find_table(&module[i]);
            return &module[i];
        }
    return NULL;
}

const struct ipo_module *ipo_module(unsigned i)
{
    return i < modules ? &module[i] : NULL;
}
