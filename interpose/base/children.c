#include "interpose/base/children.h"
#include "interpose/base/procfs.h"
#include "interpose/base/text.h"

#include <string.h>
#include <sys/syscall.h>

enum { MOST = 64 }; /* processes that are read at a time */

struct family {
    uint32_t pid[MOST];
    unsigned n;
};

/* Appends the children of a thread; there is no such file without CONFIG_PROC_CHILDREN. */
static void add_children(struct family *family, uint32_t pid, uint32_t tid)
{
    char list[1024];
    ipo_read_process(pid, tid, "children", list, sizeof list);
    for (const char *at = list; *at && family->n < MOST; at += strspn(at, " ")) {
        family->pid[family->n++] = (uint32_t)ipo_text_number(at);
        at += strcspn(at, " ");
    }
}

/* Ticks of a process and of its children that it has waited for: proc(5), fields 14 to 17. */
static uint64_t ticks_of(uint32_t pid)
{
    char text[512];
    if (!ipo_read_process(pid, 0, "stat", text, sizeof text))
        return 0;
    const char *at = strrchr(text, ')'); /* the name may have blanks and brackets */
    uint64_t sum = 0;
    for (unsigned field = 2; at && *at && field < 17; field++) {
        at += strcspn(at, " ");
        at += strspn(at, " ");
        if (field >= 13)
            sum += ipo_text_number(at);
    }
    return sum;
}

/* The living descendants of this process. */
static void find_family(struct family *family, uint32_t pid)
{
    uint32_t tid[MOST];
    unsigned all, threads = ipo_tasks(tid, MOST, &all);
    family->n = 0;
    for (unsigned i = 0; i < threads; i++)
        add_children(family, pid, tid[i]);
    for (unsigned i = 0; i < family->n; i++)
        add_children(family, family->pid[i], family->pid[i]);
}

uint64_t ipo_children_ticks(uint32_t pid)
{
    struct family family;
    uint64_t sum = 0;
    find_family(&family, pid);
    for (unsigned i = 0; i < family.n; i++)
        sum += ticks_of(family.pid[i]);
    return sum;
}

bool ipo_children_sleep(uint32_t pid)
{
    struct family family;
    char text[256];
    find_family(&family, pid);
    for (unsigned i = 0; i < family.n; i++) {
        uint64_t call = ipo_read_process(family.pid[i], 0, "syscall", text, sizeof text) ? ipo_text_number(text) : 0;
        if (call == SYS_nanosleep || call == SYS_clock_nanosleep)
            return true;
    }
    return false;
}
