/* filter HOW WHAT: installs a seccomp filter and goes on.
 * HOW: all (for all threads), early (before MPI_Init), unseen (by a system call that no function of libc makes): calls
 * that the program never makes itself are refused; thread (the calling one): all calls are but write and exit_group.
 * WHAT: kill, or errno. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 1000000 };
static struct sock_filter code[64];
static struct sock_fprog program = {0, code};
static int kills;

static void make(const int *numbers, size_t n, int listed_only)
{
    unsigned refuse = kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    code[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < n; i++) {
        code[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed_only ? SECCOMP_RET_ALLOW : refuse);
    }
    code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed_only ? refuse : SECCOMP_RET_ALLOW);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static long unseen(long number, long a, long b, long c)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

int main(int argc, char **argv)
{
    static const int never[] = {SYS_fallocate, SYS_perf_event_open, SYS_ptrace,           SYS_bpf,
                                SYS_getrusage, SYS_msync,           SYS_process_vm_readv, SYS_process_vm_writev,
                                SYS_execve,    SYS_pwrite64},
                     few[] = {SYS_write, SYS_exit_group};
    enum { NEVER = sizeof never / sizeof *never };
    const char *how = argv[1];
    int me, thread = !strcmp(how, "thread"), early = !strcmp(how, "early"), seen = 0;
    kills = !strcmp(argv[2], "kill");
    if (thread)
        make(few, 2, 1);
    else
        make(never, early ? NEVER - 2 : NEVER, 0);
    if (early)
        seen = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    MPI_Init(&argc, &argv);
    if (thread)
        seen = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    else if (!strcmp(how, "all"))
        seen = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    else if (!early)
        seen = (int)unseen(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, (long)&program);
    for (int i = 0; i < CALLS; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        if (i % 100000 == 0 && !thread)
            usleep(50000);
    }
    if (write(1, seen ? "no filter\n" : "filter\n", seen ? 10 : 7) < 0)
        return 1;
    if (thread)
        _exit(0);
    MPI_Finalize();
    return 0;
}
