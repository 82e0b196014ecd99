# timeout: 120
"""Regions of the program's own, as workloads/regions.c says: in files and reports; and hpctop.h in C and C++ programs, linked
in any way, with and without libtrace.so."""
import collections
import re
import subprocess

from common import TOP, check, end, environment, hpctop, mpirun, run, traces, workload

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
compiled()
end()
