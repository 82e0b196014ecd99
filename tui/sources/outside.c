#include "tui/sources/outside_impl.h"
#include "tui/sources/sentences_impl.h"
#include "tui/sources/running.h"
#include "trace/util/cxx_name.h"
#include "trace/util/now.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"

#include <ctype.h>
#include <elf.h>
#include <elfutils/libdwfl.h>
#include <sched.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PYTHON_ROOM = 24 }; /* frames that Python has room for, however deep the native stack is */

/* Registers in the order of DWARF, and the one that a thread in a system call shows.  LINK: DWARF's number of one more,
 * behind them; 0: none. */
#if defined(__x86_64__)
static uint64_t fill_registers(const struct user_regs_struct *r, Dwarf_Word *out)
{
    const Dwarf_Word all[TUI_OUTSIDE_REGISTERS] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                                   r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                                   r->r12, r->r13, r->r14, r->r15, r->rip};
    memcpy(out, all, sizeof all);
    return r->rip;
}
#elif defined(__aarch64__)
static uint64_t fill_registers(const struct user_regs_struct *r, Dwarf_Word *out)
{
    for (int i = 0; i < 31; i++)
        out[i] = r->regs[i];
    out[TUI_OUTSIDE_SP] = r->sp;
    return r->pc;
}
#elif defined(__powerpc64__)
#define user_regs_struct pt_regs
static uint64_t fill_registers(const struct pt_regs *r, Dwarf_Word *out)
{
    for (int i = 0; i < TUI_OUTSIDE_REGISTERS; i++)
        out[i] = r->gpr[i];
    out[TUI_OUTSIDE_REGISTERS] = r->link;
    return r->nip;
}
#endif

/* ---- callbacks of libdwfl ---------------------------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *process, void **thread)
{
    (void)dwfl;
    const bool first = !*thread;
    *thread = process;
    return first ? ((struct tui_outside *)process)->tid : 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *process, void **thread)
{
    (void)dwfl;
    *thread = process;
    return tid == ((struct tui_outside *)process)->tid;
}

bool tui_outside_memory(const struct tui_outside *process, uint64_t address, void *out, size_t size)
{
    if (address >= process->stack && address + size <= process->stack + process->copied) {
        memcpy(out, process->copy + (address - process->stack), size);
        return true;
    }
    struct iovec here = {out, size}, there = {(void *)(uintptr_t)address, size};
    return process_vm_readv(process->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *out, void *process)
{
    (void)dwfl;
    return tui_outside_memory(process, address, out, sizeof *out);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    const struct tui_outside *process = arg;
    dwfl_thread_state_register_pc(thread, process->pc);
    if (!process->whole)
        return dwfl_thread_state_registers(thread, TUI_OUTSIDE_SP, 1, &process->reg[TUI_OUTSIDE_SP]);
    return dwfl_thread_state_registers(thread, 0, TUI_OUTSIDE_REGISTERS, process->reg) &&
           (!TUI_OUTSIDE_LINK ||
            dwfl_thread_state_registers(thread, TUI_OUTSIDE_LINK, 1, &process->reg[TUI_OUTSIDE_REGISTERS]));
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
                                                       .get_thread = get_thread,
                                                       .memory_read = read_word,
                                                       .set_initial_registers = set_registers};

/* ---- one thread -------------------------------------------------------------------------------------------------- */

/* Copies the stack from the stack pointer on, up to the first page that is not there. */
static void copy_stack(struct tui_outside *process)
{
    process->stack = process->reg[TUI_OUTSIDE_SP];
    struct iovec here = {process->copy, TUI_OUTSIDE_COPY}, there[TUI_OUTSIDE_COPY / 4096];
    uint64_t at = process->stack;
    size_t n = 0;
    for (size_t left = TUI_OUTSIDE_COPY; left && n < sizeof there / sizeof *there; n++) {
        const size_t part = n ? 4096 : 4096 - (size_t)(at & 4095);
        there[n] = (struct iovec){(void *)(uintptr_t)at, part < left ? part : left};
        left -= there[n].iov_len;
        at += there[n].iov_len;
    }
    const ssize_t got = process_vm_readv(process->pid, &here, 1, there, n, 0);
    process->copied = got > 0 ? (size_t)got : 0;
    tui_outside_python_read(&process->python);
}

/* Reads what a stopped thread shows, and lets it run on. */
static bool read_stopped(struct tui_outside *process)
{
    struct user_regs_struct user;
    struct iovec to = {&user, sizeof user};
    const bool read = ptrace(PTRACE_GETREGSET, process->tid, NT_PRSTATUS, &to) == 0;
    if (read) {
        process->pc = fill_registers(&user, process->reg);
        copy_stack(process);
    }
    ptrace(PTRACE_DETACH, process->tid, NULL, NULL);
    process->stops = false;
    return read && process->copied;
}

/* Begins to read the stack: a thread that runs is told to stop.  False: this user may not, or it has ended. */
static bool begin_read(struct tui_outside *process)
{
    char name[64], line[256];
    unsigned long long sp, pc;
    if (process->stops)
        return true;
    snprintf(name, sizeof name, "task/%d/syscall", process->tid);
    tui_read_proc(process->pid, name, line, sizeof line);
    process->whole = strncmp(line, "running", 7) == 0;
    process->copied = 0;
    if (process->whole) {
        process->stops = ptrace(PTRACE_SEIZE, process->tid, NULL, NULL) == 0;
        return process->stops && ptrace(PTRACE_INTERRUPT, process->tid, NULL, NULL) == 0;
    }
    const char *at = strrchr(line, ' ');
    while (at && at > line && at[-1] != ' ')
        at--;
    if (!at || sscanf(at, "%llx %llx", &sp, &pc) != 2)
        return false;
    process->reg[TUI_OUTSIDE_SP] = sp;
    process->pc = pc;
    copy_stack(process);
    return process->copied > 0;
}

/* The place of a frame in its file, or in a Python process's code, and its names: found once. */
struct place {
    uint64_t offset;
    struct tui_outside_frame named;
    char module[];
};
static void *places;
ANA_COMPARE(by_place, struct place, x->offset<y->offset ? -1 : x->offset> y->offset, strcmp(x->module, y->module))

static void find_names(Dwfl_Module *module, uint64_t address, const char *path, struct tui_outside_frame *out)
{
    static const char *const below[] = {"libc.", "libc-", "ld-",       "libpthread", "linux-vdso",
                                        "[vdso", "libm.", "libstdc++", "libgcc_s",   "libgomp"};
    const char *name = dwfl_module_addrname(module, address);
    Dwfl_Line *line = dwfl_module_getsrc(module, address);
    int number = 0;
    const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
    snprintf(out->function, sizeof out->function, "%.*s", name ? (int)strcspn(name, "@") : 0, name ? name : "");
    trc_cxx_name(out->function);
    trc_clean_text(out->function);
    path = trc_base_name(path);
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        out->is_system |= strncmp(path, below[i], strlen(below[i])) == 0;
    out->is_interpreter = tui_outside_is_interpreter(path);
    if (file)
        snprintf(out->where, sizeof out->where, "%s:%d", trc_base_name(file), number);
    else
        snprintf(out->where, sizeof out->where, "%s", path);
}

/* Returns the place of that key, made anew if *fresh; NULL: out of memory. */
static struct place *find_place(const char *module, uint64_t offset, bool *fresh)
{
    struct place *made = calloc(1, sizeof *made + strlen(module) + 1);
    *fresh = false;
    if (!made)
        return NULL;
    made->offset = offset;
    strcpy(made->module, module);
    struct place *const *found = tsearch(made, &places, by_place);
    *fresh = found && *found == made;
    if (!*fresh)
        free(made);
    return found ? *found : NULL;
}

static void name_frame(Dwfl *dwfl, struct tui_outside_frame *frame)
{
    const uint64_t address = frame->address;
    Dwarf_Addr start = 0;
    bool fresh;
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    const char *path = module ? dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL) : NULL;
    struct place *place = path ? find_place(path, address - start, &fresh) : NULL;
    *frame = (struct tui_outside_frame){.where = "?"};
    if (place && fresh)
        find_names(module, address, path, &place->named);
    if (place)
        *frame = place->named;
    frame->address = address;
}

/* Puts the Python frames in place of the interpreter's, from its innermost one outwards. */
static void add_python(const struct tui_outside_python *python, struct tui_outside_stack *out)
{
    enum { MOST = TUI_OUTSIDE_FRAMES - PYTHON_ROOM };
    char key[64];
    size_t n = 0;
    bool fresh;
    while (n < out->count && !out->frame[n].is_interpreter)
        n++;
    if (!python->count || (n == out->count && n < TUI_OUTSIDE_FRAMES)) /* the thread is not inside Python */
        return;
    n = n < MOST ? n : MOST;
    for (size_t i = 0; i < n; i++)
        out->frame[i].is_system |= !strchr(out->frame[i].where, ':');
    for (size_t i = 0; i < python->count && n < TUI_OUTSIDE_FRAMES; i++) {
        const struct tui_outside_code *code = &python->frame[i];
        snprintf(key, sizeof key, "python %d %llx", python->pid, (unsigned long long)code->code);
        struct place *place = find_place(key, code->at, &fresh);
        if (place && fresh)
            tui_outside_python_name(python, code, &place->named);
        if (place && place->named.is_python)
            out->frame[n++] = place->named;
    }
    out->count = n;
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
    struct tui_outside_stack *out = ((struct tui_outside *)arg)->out;
    Dwarf_Addr pc;
    bool exact;
    if (!dwfl_frame_pc(state, &pc, &exact) || out->count == TUI_OUTSIDE_FRAMES)
        return DWARF_CB_ABORT;
    tui_outside_save(arg, state, out->count);
    out->frame[out->count++].address = exact ? pc : pc - 1;
    return DWARF_CB_OK;
}

/* Reads the stack, if the thread has stopped or is in a system call, and resumes it.  1: done; 0: not yet; -1: it has
 * ended, or is not readable. */
static int end_read(struct tui_outside *process, struct tui_outside_stack *out)
{
    int status;
    const pid_t stopped = process->stops ? waitpid(process->tid, &status, __WALL | WNOHANG) : 0;
    if (process->stops && !stopped)
        return 0;
    if (process->stops && (stopped < 0 || !WIFSTOPPED(status) || !read_stopped(process)))
        return -1;
    *out = (struct tui_outside_stack){.runs = process->whole};
    process->out = out;
    dwfl_getthread_frames(process->dwfl, process->tid, add_frame, process);
    for (size_t i = 0; i < out->count; i++)
        name_frame(process->dwfl, &out->frame[i]);
    tui_outside_read_arguments(process, out);
    add_python(&process->python, out);
    return out->count ? 1 : -1;
}

void tui_outside_read(struct tui_outside *const *process, size_t n, int64_t patience_ns, tui_outside_stack_do *take,
                      void *user)
{
    static struct tui_outside_stack stack;
    const int64_t end = ana_now_ns() + patience_ns;
    size_t pending = 0;
    for (size_t i = 0; i < n; i++)
        if (process[i])
            pending += process[i]->pending = begin_read(process[i]);
    while (pending && ana_now_ns() < end) {
        for (size_t i = 0; i < n; i++) {
            const int got = process[i] && process[i]->pending ? end_read(process[i], &stack) : 0;
            if (got > 0)
                take(user, i, &stack);
            if (got) {
                process[i]->pending = false;
                pending--;
            }
        }
        sched_yield();
    }
}

/* ---- a process --------------------------------------------------------------------------------------------------- */

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = dwfl_standard_find_debuginfo};

struct tui_outside *tui_outside_open(int pid, int tid)
{
    struct tui_outside *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    if (!getenv("HPCTOP_DEBUGINFOD"))
        unsetenv("DEBUGINFOD_URLS"); /* libdw would ask these servers, for as long as it takes */
    process->pid = pid;
    process->tid = tid;
    process->dwfl = dwfl_begin(&callbacks);
    if (process->dwfl && dwfl_linux_proc_report(process->dwfl, pid) == 0 &&
        dwfl_report_end(process->dwfl, NULL, NULL) == 0 &&
        dwfl_attach_state(process->dwfl, NULL, pid, &thread_callbacks, process)) {
        tui_outside_python_find(process->dwfl, pid, tid, &process->python);
        return process;
    }
    tui_outside_close(process);
    return NULL;
}

void tui_outside_close(struct tui_outside *process)
{
    if (process && process->dwfl)
        dwfl_end(process->dwfl);
    free(process);
}

/* Whether a function is called by programs, as MPI_Send, mpi_send_, PMPI_Send or ncclAllReduce are, or jumped to from
 * there, as ompi_mpi_finalize is. */
static bool is_call(const char *name)
{
    return strncasecmp(name, "MPI_", 4) == 0 || strncasecmp(name, "PMPI_", 5) == 0 ||
           strncmp(name, "ompi_mpi_", 9) == 0 || (strncmp(name, "nccl", 4) == 0 && isupper((unsigned char)name[4]));
}

size_t tui_outside_call(const struct tui_outside_stack *stack)
{
    for (size_t i = stack->count; i-- > 0;)
        if (is_call(stack->frame[i].function))
            return i;
    return stack->count;
}

void tui_outside_call_name(const char *function, char *out, size_t size)
{
    function += strncmp(function, "ompi_mpi_", 9) == 0 ? 5 : tolower((unsigned char)*function) == 'p';
    snprintf(out, size, "%s", function);
    if (strncmp(out, "mpi_", 4) != 0)
        return;
    memcpy(out, "MPI", 3); /* Fortran's mpi_send_ */
    out[4] = (char)toupper((unsigned char)out[4]);
    out[strlen(out) - (out[strlen(out) - 1] == '_')] = 0;
}

const struct tui_outside_frame *tui_outside_place(const struct tui_outside_stack *stack)
{
    const size_t outer = tui_outside_call(stack);
    size_t i = outer + 1 < stack->count ? outer + 1 : 0;
    while (i < stack->count && stack->frame[i].is_system)
        i++;
    return i < stack->count ? &stack->frame[i] : NULL;
}

void tui_outside_why_not(char *out, size_t size)
{
    char scope[8];
    const bool forbids = tui_read_file("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) && *scope != '0';
    snprintf(out, size, "%s",
             forbids && geteuid() ? SAY_YAMA_FORBIDS
             : geteuid()          ? SAY_THEY_ARE_ANOTHER
                                  : SAY_THE_CONTAINER_FORBIDS);
}

double tui_outside_cpu_s(int pid)
{
    char text[1024];
    unsigned long user = 0, kernel = 0;
    tui_read_proc(pid, "stat", text, sizeof text);
    const char *at = strrchr(text, ')');
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &kernel) != 2)
        return 0;
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}
