# timeout: 240
"""Every way to see NCCL, alone and together, on the GPU double: each call is recorded once, with the bytes that the workload
worked out, whichever windows see it; and programs that have nothing to do with NCCL do not notice them."""
import os
import shutil
import sys

from common import BUILD, TOP, check, end, environment, hpctop, run, skip
from truths import hold

DOUBLE = os.path.join(BUILD, "gpu_double")


def source(name):
    return os.path.join(TOP, "workloads/nccl", name)


def torchrun(ranks, command, folder=None, preload=True, timeout=60, **env):
    """As torchrun starts its ranks; MASTER_PORT tells jobs apart."""
    env = dict({"LD_LIBRARY_PATH": DOUBLE, "WORLD_SIZE": ranks, "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}, **env)
    shell = " & ".join("RANK=%d %s & p%d=$!" % (i, " ".join(command), i) for i in range(ranks))
    wait = "; ".join("wait $p%d || bad=1" % i for i in range(ranks))
    return run(["sh", "-c", shell.replace("& &", "&") + "; bad=0; " + wait + "; exit $bad"],
               environment(folder, preload, **env), timeout)


def compile_c(name, text, *flags):
    with open(name + ".c", "w") as f:
        f.write(text)
    done = run(["gcc", "-o", name, name + ".c"] + list(flags) + ["-ldl"])
    return check("compiled " + name, done.code == 0, done)


def dlsym_by_others():
    """What dlsym means to a program, and to a library that stands between it and others, is what it was."""
    compile_c("first.so", "int who(void) { return 1; }", "-shared", "-fPIC")
    compile_c("between.so", """
#define _GNU_SOURCE
#include <dlfcn.h>
int who(void) { int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "who"); return next ? 10 + next() : -1; }
int atoi(const char *s) { int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "atoi"); return 1000 + next(s); }
""", "-shared", "-fPIC")
    compile_c("asks", r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
int who(void);
int main(void)
{
    errno = 42;
    void *self = dlopen(NULL, RTLD_NOW);
    printf("%d %d %d %d %d %d\n", who(), atoi("7"), dlsym(RTLD_DEFAULT, "nowhere") == NULL, dlerror() != NULL,
           dlsym(self, "ncclNothing") == NULL && dlerror() != NULL, dlsym(RTLD_NEXT, "who") != NULL);
    printf("%d %d\n", dlsym(self, "who") == (void *)who && !dlerror(), dlsym(RTLD_NEXT, "main") == NULL);
    return 0;
}""", "-Wl,--no-as-needed", "./between.so", "./first.so", "-Wl,-rpath,$ORIGIN", "-rdynamic")
    plain, traced = (run(["./asks"], environment(None, preload)) for preload in (False, True))
    check("dlsym is to others what it was", plain.code == 0 and plain.out.startswith("11 1007 1 ")
          and (plain.out, plain.err) == (traced.out, traced.err), [(r.code, r.out, r.err) for r in (plain, traced)])
    with open("early.c", "w") as f:  # an allocator that asks dlsym before anything is ready
        f.write("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static char room[1 << 20]; static size_t used; static int asked, inside;
static void *(*real)(size_t);
void *malloc(size_t n)
{
    if (!real && !inside) { inside = 1; real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"); inside = 0; asked++; }
    if (real) return real(n);
    used += (n + 31) & ~(size_t)15; return room + used - ((n + 31) & ~(size_t)15);
}
int asked_times(void) { return asked; }
""")
    run(["gcc", "-shared", "-fPIC", "-o", "early.so", "early.c", "-ldl"])
    done = run([sys.executable, "-c", "import ctypes; print(ctypes.CDLL('./early.so').asked_times())"],
               dict(environment(None, True), LD_PRELOAD=environment(None, True)["LD_PRELOAD"] + ":./early.so"))
    check("an allocator that asks dlsym first", done.code == 0 and done.out.strip() == "1", done)


def loaded_by_itself():
    """NCCL through dlopen and dlsym: one copy, two copies."""
    shutil.copy(os.path.join(DOUBLE, "libnccl.so.2"), "libnccl-other.so")
    for libraries in (["libnccl.so.2"], ["libnccl.so.2", "./libnccl-other.so"]):
        ids = "ids%d" % len(libraries)
        os.mkdir(ids)
        held = hold("ctypes_user.py", [ids] + libraries, 2, lambda n, command, *rest, **env: torchrun(
            n, [sys.executable] + command, *rest, **env), source)
        if held:
            dump = hpctop("dump", "trace-ctypes_user.py-%s-x2" % "-".join([ids] + libraries)).out
            check("ctypes, %d copies: said in the head" % len(libraries),
                  ("nccl.also" in dump) == (len(libraries) == 2) and "dlsym" in dump, dump[:2000])


dlsym_by_others()
loaded_by_itself()
end()
