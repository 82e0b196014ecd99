# timeout: 120
"""Regions of the program's own, as workloads/regions.c says: in files and reports; and hpctop.h in C and C++ programs, linked
in any way, with and without libtrace.so."""
import collections
import re
import subprocess

from common import TOP, calls, check, end, environment, hpctop, mpirun, report, run, traces, workload

ROUNDS = 20


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
        wanted = ([("OPEN", "main")] + step * ROUNDS + [("BEGIN", "outer"), ("BEGIN", "never ended"), ("END", "outer"),
                                                        ("END", "nowhere"), ("CALL", "MPI_Finalize"), ("END", "main")])
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
    check("computing lasts as long as planted", rows["compute"]["total_s"] >= 2 * (ROUNDS + 3) * 0.002 and
          rows["compute"]["mpi_s"] == 0, rows["compute"])
    parts = rows["compute"]["total_s"] * ROUNDS / (ROUNDS + 3) + rows["exchange"]["total_s"] + rows["step"]["own_s"]
    check("a step is the sum of its parts", abs(parts - rows["step"]["total_s"]) <= 0.2 * parts, (parts, rows["step"]))
    for name, row in rows.items():
        check("%s: the ranks make up the total" % name, abs(sum(row["by_rank_s"]) - row["total_s"]) < 1e-6, row)
    between = {s["region"]: s["times"] for s in rep["segments"] if s["from"] == s["to"]}
    check("what lies between two exchanges is in compute", between.get("compute") == 2 * (ROUNDS - 1) and
          set(between) <= {"compute"}, rep["segments"])
    page = hpctop("report", "files").out
    check("the page says so", "\n compute: Allreduce regions.c:" in page, page)
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


files()
reported()
compiled()
end()
