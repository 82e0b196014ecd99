# timeout: 240
"""Every way to see NCCL, alone and together, on the GPU double: each call is recorded once, with the bytes that the workload
worked out, whichever hooks see it; and programs that have nothing to do with NCCL do not notice them."""
import json
import os
import re
import shutil
import subprocess
import sys

from common import BUILD, TOP, check, end, environment, hpctop, run, wait_for
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
    done = run(["gcc", "-w", "-o", name, name + ".c"] + list(flags) + ["-ldl"])
    return check("compiled " + name, done.code == 0, done.err)


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


HIDDEN = [os.path.join(BUILD, "workloads/nccl/hidden"), os.path.join(DOUBLE, "libhidden_part.so")]
DATA = ("ncclAllReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter", "ncclReduce", "ncclSend", "ncclRecv")


def seen(label, folder, command, names=None, hooks=None, **env):
    """Runs a workload as torchrun does, and holds the calls in the report to what it worked out: all, or those of `names`.
    Returns the dump, None if it did not run."""
    for path in ("id", "truth.json"):
        if os.path.exists(path):
            os.remove(path)
    done = torchrun(2, command, folder, TRUTH=os.path.abspath("truth.json"), **env)
    if not check(label + ": runs", (done.code, done.out) == (0, ""), (done.code, done.out, done.err[-500:])):
        return None
    with open("truth.json") as f:
        wanted = {k: v for k, v in json.load(f)["calls"].items() if not names or k in names}
    rep = json.loads(hpctop("report", "--json", folder).out)
    found = {c["name"]: {k: c[k] for k in ("calls", "bytes_sent", "bytes_received")} for c in rep["calls"]}
    check(label + ": every call once", found == wanted, {k: (wanted.get(k), found.get(k)) for k in set(wanted) | set(found)
                                                         if wanted.get(k) != found.get(k)})
    check(label + ": one job of two ranks", rep["job"]["ranks"] == 2 and len(rep["ranks"]) == 2, rep["job"])
    dump = hpctop("dump", folder).out
    live = re.search(r"fact nccl.hooks: (.*)", dump)
    live = live.group(1).split(";")[0].split(", ") if live else None
    check(label + ": the head names the hooks", hooks is None or live == hooks, live)
    return dump


def hidden():
    """NCCL inside a library that shows none of its names: by NVTX and the plugin, in each generation of both."""
    for version, generation in ((22203, "NVTX without communicators"), (22304, 1), (22505, 2), (22602, 3), (22703, 4), (22809, 5),
                                (22903, 6)):
        v = {"GPU_DOUBLE_NCCL_VERSION": version}
        plugin = ["plugin"] if version >= 22300 else []
        label = "hidden %d" % version
        dump = seen(label, "hidden-%d" % version, HIDDEN + ["id"], hooks=plugin + ["NVTX"], **v)
        if dump and version >= 22500:
            ids = re.findall(r"identity=(\w+) .*by=ncclComm(\w+)", dump)
            whole = [i for i, by in ids if by == "InitRank"]
            check(label + ": the communicator is the same on both ranks", len(whole) == 2 and len(set(whole)) == 1, ids)
        if dump and plugin:
            check(label + ": algorithm and protocol", re.search("ncclAllReduce 64 B%s: RING LL, 2 channels" % (
                " of 2" if generation > 1 else ""), dump), re.findall("fact nccl.*", dump))
        if plugin and generation >= 4:  # before, a plugin is not told how many ranks there are
            seen(label + " plugin", "plugin-%d" % version, HIDDEN + ["id"], DATA, ["plugin"], HPCTOP_NCCL="plugin", **v)
    done = torchrun(2, HIDDEN + ["id"], "no-driver", GPU_DOUBLE_DRIVER=0) if not os.path.exists("id") or not os.remove("id") else None
    check("hidden, and no driver of CUDA: nothing is seen, and nothing is harmed", done.code == 0 and
          not os.path.exists("no-driver"), done)


def together():
    """All hooks on an NCCL that shows its names: symbols see it, the others add to it."""
    program = [os.path.join(BUILD, "workloads/nccl/without_mpi"), "id"]
    everything = "symbols,dlsym,plugin,NVTX"
    seen("symbols", "w-symbols", program, None, ["symbols", "plugin"])
    seen("symbols alone", "w-alone", program, None, ["symbols"], HPCTOP_NCCL="symbols")
    for version in (22203, 22703, 22809, 22903):
        v = {"GPU_DOUBLE_NCCL_VERSION": version}
        plugin = ["plugin"] if version >= 22300 else []
        seen("all hooks, %d" % version, "w-all-%d" % version, program, None, ["symbols"] + plugin,
             HPCTOP_NCCL=everything, **v)
        seen("NVTX alone, %d" % version, "w-nvtx-%d" % version, program, None, ["NVTX"], HPCTOP_NCCL="NVTX", **v)
    seen("plugin alone", "w-plugin", program, DATA, ["plugin"], HPCTOP_NCCL="plugin")


def polite():
    """What the user has set stays; what a program, its children and its plugins see is what they saw before."""
    program = [os.path.join(BUILD, "workloads/nccl/without_mpi"), "id"]
    compile_c("own.so", """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void note(const char *what) { FILE *f = fopen(getenv("NOTE"), "a"); if (f) { fputs(what, f); fclose(f); } }
static int init(void **c, uint64_t id, int *mask) { (void)id; static int it; *c = &it; *mask = 2; note("init "); return 0; }
static int start(void *c, void **h, void *d) { (void)d; *h = c; note("start "); return 0; }
static int stop(void *h) { (void)h; return 0; }
static int state(void *h, int s, void *a) { (void)h, (void)s, (void)a; return 0; }
static int end(void *c) { (void)c; note("end "); return 0; }
const struct { const char *name; void *f[5]; } ncclProfiler_v5 = {"own", {(void *)init, (void *)start, (void *)stop, (void *)state, (void *)end}};
int InitializeInjectionNvtx2(void *t) { (void)t; note("nvtx "); return 0; }
""", "-shared", "-fPIC")
    own = os.path.abspath("own.so")
    note = os.path.abspath("note")
    shutil.copy("own.so", "libnccl-profiler.so")
    for label, env in (("named by the user", {"NCCL_PROFILER_PLUGIN": own}),
                       ("found by its name", {"LD_LIBRARY_PATH": DOUBLE + ":" + os.path.abspath(".")}),
                       ("preloaded beside us", {"NCCL_PROFILER_PLUGIN": "STATIC_PLUGIN",
                                                "LD_PRELOAD": environment(None, True)["LD_PRELOAD"] + ":" + own})):
        if os.path.exists(note):
            os.remove(note)
        seen("a plugin " + label, "p-" + label.replace(" ", "-"), program, None, ["symbols"], NOTE=note, **env)
        told = open(note).read() if os.path.exists(note) else ""
        check("a plugin %s keeps its place" % label, "init" in told and "start" in told and "end" in told, told)
    os.remove("libnccl-profiler.so")
    seen("an injection of the user's", "p-nvtx", HIDDEN + ["id"], DATA, ["plugin"], NOTE=note, NVTX_INJECTION64_PATH=own)
    check("an injection of the user's keeps its place", "nvtx" in open(note).read())

    compile_c("child", r"""
#include <stdio.h>
#include <stdlib.h>
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *l = dlopen(argv[1], RTLD_NOW); int (*run)(const char *) = (int (*)(const char *))dlsym(l, "hidden_run");
    int bad = run(argv[2]);
    const char *p = getenv("NCCL_PROFILER_PLUGIN"), *n = getenv("NVTX_INJECTION64_PATH");
    printf("%s %s\n", p ? p : "-", n ? n : "-"); fflush(stdout);
    return bad || system("env | grep -E 'NCCL_PROFILER|NVTX' ; true") || argc < 3;
}
""")
    if os.path.exists("id"):
        os.remove("id")
    done = torchrun(2, ["./child", HIDDEN[1], "id"], "p-child")
    check("the environment is as it was, for the program and its children", (done.code, done.out) == (0, "- -\n" * 2), done.out)


def begun_and_not_ended():
    """An operation that hangs, in a hidden NCCL: its kernel has begun, as NCCL itself tells, and the file says so after SIGKILL."""
    for hooks in ("plugin,NVTX,channels", "plugin,channels"):
        label, folder = "channels (%s)" % hooks, "hang-" + hooks.replace(",", "-")
        os.path.exists("id") and os.remove("id")
        env = environment(folder, True, LD_LIBRARY_PATH=DOUBLE, WORLD_SIZE=2, MASTER_ADDR="localhost", MASTER_PORT=29512, HPCTOP_NCCL=hooks,
                          GPU_DOUBLE_FAULT="block:1:6")
        ranks = [subprocess.Popen(HIDDEN + ["id"], env=dict(env, RANK=str(i)), stdout=subprocess.DEVNULL) for i in range(2)]
        begun = lambda: re.findall(r"^op \d+: started (nccl\w+) .*by_plugin", hpctop("dump", folder).out, re.M)
        wanted = ["ncclAllReduce"] * 4 + ["ncclRecv"] * 2 + ["ncclSend"] * 2  # the group of the first round
        check(label + ": seen while it hangs", wait_for(lambda: os.path.isdir(folder) and sorted(begun()) == wanted, 30), begun())
        for p in ranks:
            p.kill()
            p.wait()
        check(label + ": seen after SIGKILL", sorted(begun()) == wanted, begun())
        dump = hpctop("dump", folder).out
        check(label + ": what came before is complete", len(re.findall(r"^op \d+: completed ", dump, re.M)) == 12
              and not re.search(r"^op \d+: (called|enqueued)", dump, re.M), dump[-3000:])


def by_torchrun():
    """Without a folder named: one for all ranks, that says which job it is."""
    os.path.exists("id") and os.remove("id")
    done = torchrun(2, [os.path.join(BUILD, "workloads/nccl/without_mpi"), "id"], MASTER_PORT=29511,
                    TORCHELASTIC_RUN_ID="none", LOCAL_WORLD_SIZE=2, SLURM_PROCID=0)
    files = os.listdir("hpctop-localhost-29511") if os.path.isdir("hpctop-localhost-29511") else []
    check("torchrun: one folder", done.code == 0 and len(files) == 2, (done.code, os.listdir(".")))
    rep = json.loads(hpctop("report", "--json", "hpctop-localhost-29511").out or "{}")
    check("torchrun: ranks of one world", [r["rank"] for r in rep.get("ranks", [])] == [0, 1] and rep["job"]["ranks"] == 2, rep)


dlsym_by_others()
loaded_by_itself()
hidden()
together()
polite()
by_torchrun()
begun_and_not_ended()
end()
