# timeout: 300
"""A guest: the program's output, exit status and errno are the same with and without libtrace.so; it can be switched
off; forked children and exec leave no trace; a second preloaded tool sees the same calls."""
import os
import re
import subprocess

from common import LIBTRACE, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces, workload
from spawn_many import spawned_many

PROBE = r"""
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int bad(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    printf("%s: class %d, %s\n", what, class, text);
    return class;
}
int main(int argc, char **argv)
{
    int me, n, flag = 5;
    char in[8], out[16] = "0123456789abcdef";
    MPI_Status status;
    memset(&status, 0x5a, sizeof status);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    errno = 4711;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < 1000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, &status);
    MPI_Sendrecv(out, 3, MPI_CHAR, 0, 1, in, 8, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status);
    printf("rank %d of %d: errno %d, flag %d, from %d, tag %d\n", me, n, errno, flag, status.MPI_SOURCE, status.MPI_TAG);
    bad(MPI_Send(out, 1, MPI_CHAR, n + 7, 1, MPI_COMM_WORLD), "send to nobody");
    bad(MPI_Send(out, -1, MPI_CHAR, 0, 1, MPI_COMM_WORLD), "negative count");
    MPI_Request r[2];
    MPI_Irecv(in, 4, MPI_CHAR, 0, 2, MPI_COMM_SELF, &r[0]);
    MPI_Isend(out, 16, MPI_CHAR, 0, 2, MPI_COMM_SELF, &r[1]);
    MPI_Status both[2];
    int code = MPI_Waitall(2, r, both);
    bad(code, "truncated");
    printf("errors %d %d, requests %d %d\n", both[0].MPI_ERROR, both[1].MPI_ERROR, r[0] == MPI_REQUEST_NULL,
           r[1] == MPI_REQUEST_NULL);
    MPI_Finalize();
    return 23;
}
"""

COUNTER = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int sends, receives;
int MPI_Send(const void *b, int n, MPI_Datatype t, int d, int g, MPI_Comm c) { sends++; return PMPI_Send(b, n, t, d, g, c); }
int MPI_Recv(void *b, int n, MPI_Datatype t, int s, int g, MPI_Comm c, MPI_Status *u)
{
    receives++;
    return PMPI_Recv(b, n, t, s, g, c, u);
}
int MPI_Finalize(void)
{
    fprintf(stderr, "tool: %d sends, %d receives\n", sends, receives);
    return PMPI_Finalize();
}
"""


def build(name, source, *flags):
    with open(name + ".c", "w") as f:
        f.write(source)
    subprocess.run(["mpicc", "-O1", "-o", name, name + ".c"] + list(flags), check=True)


def unchanged():
    build("probe", PROBE)
    for ranks in (1, 2):
        plain = mpirun(ranks, "./probe", preload=False)
        traced = mpirun(ranks, "./probe", "probe-%d" % ranks)
        check("stdout is the same x%d" % ranks, sorted(plain.out.splitlines()) == sorted(traced.out.splitlines()),
              "%r, without %r" % (traced.out, plain.out))
        check("exit status is the same x%d" % ranks, plain.code == traced.code, "%s, without %s" % (traced.code, plain.code))
        check("errno survives x%d" % ranks, "errno 4711" in traced.out, traced.out)
        noise = re.compile(r"\[.*\]|\d+|-{10,}|\s+")  # job numbers, process ids, and which rank mpirun saw end first
        check("stderr is the same x%d" % ranks, noise.sub("", plain.err) == noise.sub("", traced.err),
              "%r, without %r" % (noise.sub("", traced.err)[-300:], noise.sub("", plain.err)[-300:]))


def disabled():
    done = mpirun(2, workload("ring"), "off", HPCTOP_DISABLE="1")
    check("HPCTOP_DISABLE=1 runs", done.code == 0 and not done.out and not done.err, done)
    check("HPCTOP_DISABLE=1 leaves nothing", not os.path.exists("off"), os.path.exists("off") and os.listdir("off"))


def default_folder():
    os.mkdir("here")
    env = environment()
    env.pop("HPCTOP_DIR", None)
    done = run(["mpirun", "-n", "2", workload("ring")], env, cwd="here")
    folders = [d for d in os.listdir("here") if d.startswith("hpctop-")]
    check("without HPCTOP_DIR one folder hpctop-*", done.code == 0 and len(folders) == 1, "%s %s" % (folders, done))
    if folders:
        check("with a file a rank", len(traces("here/" + folders[0])) == 2, os.listdir("here/" + folders[0]))


def children():
    done = mpirun(2, workload("fork_children"), "forks")
    check("forked children run as before", done.code == 0 and not done.err, done)
    check("forked children leave no file", len(traces("forks")) == 2, os.listdir("forks"))


def exec_chain():
    done = mpirun(2, ["env", "A=1", "bash", "-c", "exec env B=2 " + workload("ring")], "chain")
    check("through env and bash: a file a rank", done.code == 0 and len(traces("chain")) == 2, done)
    done = run(["mpirun", "-n", "2", "env", "LD_PRELOAD=" + LIBTRACE, workload("ring")], environment("inner", False))
    check("env LD_PRELOAD next to the program", done.code == 0 and len(traces("inner")) == 2, done)


def second_tool():
    build("tool.so", COUNTER, "-shared", "-fPIC")
    for order in ("%s:./tool.so" % LIBTRACE, "./tool.so:%s" % LIBTRACE):
        name = "tool " + ("after" if order.startswith(LIBTRACE) else "before")
        folder = name.replace(" ", "-")
        done = run(["mpirun", "-n", "2", "env", "LD_PRELOAD=" + order, workload("ring")], environment(folder, False))
        rep = report(folder) if traces(folder) else None
        if name == "tool before" and rep is None:
            # A tool that stands before us and calls PMPI directly leaves nothing for us to see; it must still run.
            check(name + ": runs", done.code == 0 and done.err.count("100 sends, 100 receives") == 2, done)
            continue
        check(name + ": the tool sees all", done.err.count("100 sends, 100 receives") == 2, done)
        if name == "tool after" and check(name + ": the report can be made", rep is not None, done):
            seen = calls(rep)
            check(name + ": so do we", seen.get("MPI_Send", {}).get("calls") == 200 and
                  seen.get("MPI_Recv", {}).get("calls") == 200, {k: v["calls"] for k, v in seen.items()})


def spawned():
    done = mpirun(2, workload("spawn"), "spawned")
    check("MPI_Comm_spawn runs", done.code == 0, done)
    check("MPI_Comm_spawn: a file for each of both worlds", len(traces("spawned")) == 4, traces("spawned"))
    rep = report("spawned")
    if check("MPI_Comm_spawn: the report can be made", rep is not None):
        check("MPI_Comm_spawn: the spawn is counted", calls(rep).get("MPI_Comm_spawn", {}).get("calls") == 2, list(calls(rep)))
        # (world, rank) of both; what goes between the worlds, both ways, on the intercommunicator and on the merged one
        pairs = {((p["src_world"], p["src"]), (p["dst_world"], p["dst"])): (p["messages"], p["bytes"]) for p in rep["pairs"]}
        check("MPI_Comm_spawn: messages between the worlds, exactly",
              pairs == {((0, 0), (1, 0)): (1, 100), ((0, 0), (1, 1)): (1, 100), ((1, 0), (0, 0)): (1, 60),
                        ((1, 1), (0, 0)): (1, 61), ((1, 1), (0, 1)): (1, 24)}, rep["pairs"])
        page = hpctop("report", "--all", "spawned")
        lines = page.out
        check("MPI_Comm_spawn: each has its other end, and each collective all of its ranks",
              page.code == 0 and "MPI_Comm_spawn" in lines and "not all ranks came to" not in lines and "without their other end" not in lines and
              not re.search(r"unmatched|uncertain|unknown partner", lines), lines)


unchanged()
disabled()
default_folder()
children()
exec_chain()
second_tool()
spawned()
spawned_many("MPI_Comm_spawn, several", lambda *a: mpirun(*a, timeout=30), workload("spawn_many"))
end()
