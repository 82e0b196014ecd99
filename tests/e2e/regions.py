# timeout: 120
"""Regions of the program's own, as workloads/regions.c says: in files and reports; and hpctop.h in C and C++ programs, linked
in any way, with and without libtrace.so."""
import collections
import os
import re
import subprocess
import sys

from common import TOP, calls, check, end, environment, hpctop, mpirun, report, run, skip, traces, workload

ROUNDS = 20
PYTHON3 = "/usr/bin/python3"  # the one of python3-mpi4py


def dumped(path):
    """[(thread, what, name)] of one file, in order; calls are ("CALL", name)."""
    rows = []
    for line in hpctop("dump", path).out.splitlines():
        region = re.match(r"(\d+) +[\d.]+ [\d.]+ (BEGIN|END|OPEN) region=\d+ name=(.*?)(?: depth=\d+)?$", line)
        call = re.match(r"(\d+) +[\d.]+ [\d.]+ (MPI_\w+) ", line)
        if region:
            rows.append((int(region.group(1)), region.group(2), region.group(3)))
        elif call:
            rows.append((int(call.group(1)), "CALL", call.group(2)))
    return rows


def files():
    done = mpirun(2, [workload("regions"), "threads"], "files")
    if not check("the program runs as without", done.code == 0 and done.out.count("sum 2, recorded\n") == 2, done):
        return
    for path in traces("files"):
        rows = dumped(path)
        first = [row[1:] for row in rows if row[0] == 0]
        step = [("BEGIN", "step"), ("BEGIN", "compute"), ("END", "compute"), ("BEGIN", "exchange"), ("CALL", "MPI_Allreduce"),
                ("END", "exchange"), ("END", "step")]
        wanted = ([("OPEN", "main"), ("CALL", "MPI_Comm_rank")] + step * ROUNDS +
                  [("BEGIN", "outer"), ("BEGIN", "never ended"), ("END", "outer"), ("END", "nowhere"),
                   ("CALL", "MPI_Finalize"), ("END", "main")])
        first = [row for row in first if row != ("CALL", "MPI_Init_thread")]
        check("the first thread's regions and calls, in order", first == wanted, first)
        other = collections.Counter(row[1:] for row in rows if row[0])
        check("the second thread's", other == {("BEGIN", "helper"): 1, ("BEGIN", "compute"): 3, ("END", "compute"): 3,
                                               ("CALL", "MPI_Comm_size"): 1, ("END", "-"): 1}, other)


def reported():
    rep = report("files")
    if not check("it can be reported", rep is not None):
        return
    rows = {r["name"]: r for r in rep["regions"]}
    times = {name: row["times"] for name, row in rows.items()}
    check("regions and how often", times == {"main": 2, "step": 2 * ROUNDS, "compute": 2 * (ROUNDS + 3), "outer": 2,
                                             "exchange": 2 * ROUNDS, "helper": 2, "never ended": 0}, times)
    if len(rows) != 7:
        return
    check("ends that do not fit", rows["never ended"]["without_end"] == 2 and rep["regions_unmatched"] == 2, rep["regions_unmatched"])
    allreduce = calls(rep)["MPI_Allreduce"]["time_s"]
    check("an exchange is its call", allreduce <= rows["exchange"]["mpi_s"] * 1.0001 + 1e-6 and
          rows["exchange"]["mpi_s"] <= rows["exchange"]["total_s"], (allreduce, rows["exchange"]))
    check("computing lasts as long as planted", rows["compute"]["total_s"] >= (1 + 2) * (ROUNDS + 3) * 0.002 and
          rows["compute"]["mpi_s"] == 0, rows["compute"])
    parts = sum(rows[name]["total_s"] for name in ("compute", "exchange")) + rows["step"]["own_s"] + rows["helper"]["own_s"]
    wholes = rows["step"]["total_s"] + rows["helper"]["total_s"]
    check("steps and helpers are the sum of their parts", abs(parts - wholes) < 1e-6, (parts, wholes, rows))
    for name, row in rows.items():
        check("%s: the ranks make up the total" % name, abs(sum(row["by_rank_s"]) - row["total_s"]) < 1e-6, row)
    ns = {name: sum(round(row["seconds"] * 1e9) for row in of["accounts"]) for name, of in [*rows.items(), ("", rep["outside_regions"])]}
    check("the accounts of the regions and of no region add up to the job's", sum(ns.values()) ==
          sum(round(row["seconds"] * 1e9) for row in rep["accounts"]), ns)
    inside = {row["account"]: row["seconds"] for row in rows["exchange"]["accounts"]}
    check("an exchange waits and transfers", abs(inside.get("wait", 0) + inside.get("transfer", 0) + inside.get("queued", 0) -
                                                 rows["exchange"]["mpi_s"]) < 0.05 * rows["exchange"]["mpi_s"] and
          "wait" not in {row["account"] for row in rows["compute"]["accounts"]}, (inside, rows["compute"]))
    between = {s["region"]: s["times"] for s in rep["segments"] if s["from"] == s["to"]}
    check("what lies between two exchanges is in compute", between.get("compute") == 2 * (ROUNDS - 1) and
          set(between) <= {"compute"}, rep["segments"])
    page = hpctop("report", "--all", "files").out
    check("the page says so", re.search(r"^ compute: Allreduce regions\S+Allreduce :\d+ ", page, re.M), page)
    check("the page has them", re.search(r"^ +exchange +40 ", page, re.M) and "of none that was open" in page, page[-1500:])


PROGRAM = """#include <hpctop.h>
#include <stdio.h>
int main(void)
{
    HPCTOP_BEGIN("a");
    HPCTOP_REGION("b");
    hpctop_begin("c");
    hpctop_end(0);
    HPCTOP_END("a");
    puts(hpctop_recorder_ ? "recorded" : "not recorded");
    return dlerror() != 0;
}
"""


def shown():
    """The timeline's band of regions, in a window of one iteration: what the cursor's rank is in, inside main."""
    with open("keys", "w") as f:
        f.write("key 7 t /\ntext exchange\nkey Enter\nscreen\nkey 6\nkey :\ntext iter 5\nkey Enter\nscreen\n")
    tree, screen = hpctop("--script", "keys", "--size", "200x50", "files").out.split("---- ")[1:]
    rows = re.findall(r"^[ >]( *)[\u25bc\u25b6 ] (.*?) +([\d.]+)[a-z]+ +\S+% ", tree, re.M)
    at = [name for indent, name, _ in rows].index("exchange") if "exchange" in tree else len(rows)
    check("call paths: in a region from main on", [(len(i), name.split()[0]) for i, name, _ in rows[at:at + 3]] ==
          [(0, "exchange"), (2, "main"), (4, "MPI_Allreduce")], tree)
    bands = re.findall(r"^ region (.*)\n {8}(.*)$", screen, re.M)
    levels = [re.findall("[a-z]+", band) for band in bands[0]] if bands else []
    check("the timeline shows steps, and regions in them", len(levels) == 2 and "step" in levels[0] and
          {"compute", "exchange"} <= set(levels[1]) and all("step".startswith(word) for word in levels[0]) and
          all("compute".startswith(word) or "exchange".startswith(word) for word in levels[1]), screen)  # names may be cut


def compiled():
    for name in ("plain.c", "plain.cpp"):
        with open(name, "w") as f:
            f.write(PROGRAM)
    strict = ["-Wall", "-Wextra", "-Werror", "-I" + TOP + "/include"]
    for what, *command in (("C99", "gcc", "-std=c99", "-pedantic", "plain.c"), ("not PIE", "gcc", "-no-pie", "plain.c"),
                           ("C++", "g++", "-std=c++11", "-pedantic", "plain.cpp"), ("clang", "clang", "plain.c")):
        try:
            subprocess.run([*command, *strict, "-o", "plain", "-ldl"], check=True)
        except FileNotFoundError:
            continue
        bare, traced = run(["./plain"]), run(["./plain"], environment())
        check(what + ": without libtrace.so", bare.code == 0 and bare.out == "not recorded\n", bare)
        check(what + ": with it", traced.code == 0 and traced.out == "recorded\n", traced)


FORTRAN = """program steps
    use mpi
    use hpctop
    implicit none
    integer :: i, one = 1, total, ierr
    call mpi_init(ierr)
    do i = 1, 20
        call hpctop_begin("step   ")
        call mpi_allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
        call hpctop_end("step")
        call mpi_pcontrol(merge(2, 0, i < 20))
    end do
    call hpctop_begin("left")
    call hpctop_end()
    call hpctop_end("nowhere")
    print *, "recorded: ", hpctop_is_recorded()
    call mpi_finalize(ierr)
end program steps
"""

PYTHON = """import hpctop, sys
from mpi4py import MPI

@hpctop.region("step")
def step():
    with hpctop.region("exchange"):
        MPI.COMM_WORLD.allreduce(1)

try:
    with hpctop.region("fails"):
        raise ValueError
except ValueError:
    pass
for _ in range(20):
    step()
hpctop.begin("left"); hpctop.end()
hpctop.end("nowhere")
sys.stdout.write("recorded: %s\\n" % hpctop.is_recorded())  # at once: ranks share a terminal
"""

NVTX = """#include <nvtx3/nvToolsExt.h>
#include <mpi.h>
#include <stdio.h>

void others(void);

int main(int argc, char **argv)
{
    int one = 1, sum, levels = 0;
    others();
    nvtxRangePushA("main");
    MPI_Init(&argc, &argv);
    nvtxDomainHandle_t domain = nvtxDomainCreateA("solver");
    nvtxEventAttributes_t with = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                  .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    with.message.registered = nvtxDomainRegisterStringA(domain, "exchange");
    for (int i = 0; i < 20; i++) {
        levels += nvtxRangePushA("step");
        nvtxDomainRangePushEx(domain, &with);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        nvtxDomainRangePop(domain);
        nvtxRangeEnd(nvtxRangeStartA("started"));
        nvtxRangePushW(L"wide");
        nvtxRangePop();
        if (argc > 1) { /* ranges that cross, and one without attributes */
            nvtxRangePushA("outer");
            nvtxRangeId_t copy = nvtxRangeStartA("copy");
            nvtxRangePop();
            nvtxRangeEnd(copy);
            nvtxRangePushEx(NULL);
            nvtxRangePop();
        }
        levels += nvtxRangePop();
    }
    MPI_Finalize();
    printf("levels: %d\\n", levels);
    nvtxRangePop();
    return 0; /* not its level, which is negative without a reader: PRRTE would end the other rank */
}
"""

# In a library that is called as one of NVIDIA's: its ranges are no regions, and its strings take no room from those that are.
OTHERS = """#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

void others(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("of a library");
    nvtxEventAttributes_t with = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                  .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    for (int i = 0; i < 6000; i++) {
        char text[32];
        snprintf(text, sizeof text, "string %d", i);
        with.message.registered = nvtxDomainRegisterStringA(domain, text);
        nvtxDomainRangePushEx(domain, &with);
        nvtxDomainRangePop(domain);
    }
}
"""


def seen_in(name, wanted):
    rep = report(name)
    times = {r["name"]: r["times"] for r in rep["regions"]} if rep else {}
    check(name + ": regions and how often", times == wanted, times)
    return rep


def in_fortran():
    with open("steps.f90", "w") as f:
        f.write(FORTRAN)
    built = run(["mpifort", "-Wall", "-Wextra", "-Werror", "-o", "steps", TOP + "/include/hpctop.f90", "steps.f90"])
    if not check("Fortran: the module is compiled", built.code == 0, built):
        return
    bare, done = run(["./steps"]), mpirun(2, ["./steps"], "fortran")
    check("Fortran: without libtrace.so", bare.code == 0 and bare.out.split() == ["recorded:", "F"], bare)
    check("Fortran: with it", done.code == 0 and done.out.split() == ["recorded:", "T"] * 2, done)
    rep = seen_in("fortran", {"step": 40, "left": 2, "Pcontrol 2": 38})
    check("Fortran: an end of none", rep and rep["regions_unmatched"] == 2, rep)


def in_python():
    with open("steps.py", "w") as f:
        f.write(PYTHON)
    if run([PYTHON3, "-c", "import mpi4py"]).code:
        skip("Python", "no mpi4py")
        return
    path = TOP + "/include"
    bare, done = run(["env", "PYTHONPATH=" + path, PYTHON3, "steps.py"]), mpirun(2, [PYTHON3, "steps.py"], "python", PYTHONPATH=path)
    check("Python: without libtrace.so", bare.code == 0 and bare.out == "recorded: False\n", bare)
    check("Python: with it", done.code == 0 and done.out == "recorded: True\n" * 2, done)
    rep = seen_in("python", {"step": 40, "exchange": 40, "fails": 2, "left": 2})
    check("Python: an end of none", rep and rep["regions_unmatched"] == 2, rep)


def in_nvtx():
    got = run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--target", "nvtx",
               "--only-binary", ":all:", "nvidia-nvtx-cu12"], timeout=300)
    if got.code:
        skip("NVTX", "its headers cannot be had")
        return
    with open("ranges.c", "w") as f:
        f.write(NVTX)
    with open("others.c", "w") as f:
        f.write(OTHERS)
    include = "-Invtx/nvidia/nvtx/include"
    run(["gcc", include, "-shared", "-fPIC", "-o", "libnvothers.so", "others.c", "-ldl"])
    built = run(["mpicc", include, "-o", "ranges", "ranges.c", "libnvothers.so", "-Wl,-rpath," + os.getcwd(), "-ldl"])
    if not check("NVTX: the program is compiled", built.code == 0, built):
        return
    bare, done = run(["./ranges"]), mpirun(2, ["./ranges"], "nvtx")
    check("NVTX: without libtrace.so nobody reads it", bare.out == "levels: %d\n" % (20 * 2 * -2), bare)
    check("NVTX: the levels are those of the standard", done.out == "levels: %d\n" % (20 * 2) * 2, done)
    rep = seen_in("nvtx", {"main": 2, "step": 40, "exchange": 40, "started": 40, "wide": 40})
    check("NVTX: all ends fit", rep and "regions_unmatched" not in rep, rep)
    done = mpirun(2, ["./ranges", "crossing"], "crossing")
    check("NVTX: ranges that cross", done.out == "levels: %d\n" % (20 * 2) * 2, done)
    # `copy` ends only because `outer` does, each time: it has no time.
    seen_in("crossing", {"main": 2, "step": 40, "exchange": 40, "started": 40, "wide": 40, "outer": 40, "copy": 0, "range": 40})
    done = mpirun(2, ["./ranges"], "kept-out", HPCTOP_NCCL="symbols,plugin")
    check("NVTX: kept out", done.out == bare.out * 2 and not report("kept-out")["regions"], done)


files()
reported()
shown()
compiled()
in_fortran()
in_python()
in_nvtx()
end()
