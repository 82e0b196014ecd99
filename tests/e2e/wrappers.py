# timeout: 100
"""A call is shown at the nearest caller that is not a wrapper; which functions are, their machine code proves."""
import os
import re
import shutil
import subprocess

from common import LIBTRACE, TOP, check, end, environment, hpctop, run, skip

HERE = os.path.join(TOP, "tests/e2e/wrappers/")


def recorded(program):
    """The run, the functions whose sites forward, and (call, innermost function)."""
    folder = program + "-trace"
    done = run(["./" + program], environment(folder), 60)
    out = hpctop("dump", folder).out
    forward = {re.sub(r"\+0x\w+$", "", name) for name in re.findall(r"^site 0x\w+: (\S+) \S+ forwards", out, re.M)}
    places = set(re.findall(r"^\d+ .*?MPI_(\w+) .*?path=(\S+)", out, re.M))
    return done, forward, {(call, path.split("<")[0].split("+")[0]) for call, path in places}


def case(title, program, wrappers, known):
    done, forward, callers = recorded(program)
    check(title + ": runs", done.code == 0, done)
    check(title + ": all its functions are seen", known <= {caller for _, caller in callers}, callers)
    check(title + ": wrappers are", {name for name in forward if name in known} == wrappers, forward)
    lines = [line.strip() for line in hpctop("report", "--all", program + "-trace").out.splitlines() if re.search(r"\b(%s)\b" % "|".join(wrappers), line)]
    check(title + ": the report shows wrappers below their callers alone", lines and all(line.startswith("by ") for line in lines), lines)


C = {"sum_all", "swap", "norm", "meet", "say", "begin"}
CXX = {"Team::sum"}
for level in ("-O0", "-O1", "-O2"):
    name = "c" + level
    with_cxx = bool(shutil.which("mpicxx"))
    subprocess.run(["mpicc", level, "-c", "-o", name + ".o", HERE + "wrap.c"], check=True)
    if with_cxx:
        subprocess.run(["mpicxx", level, "-o", name, name + ".o", HERE + "wrap.cpp"], check=True)
    else:
        skip("C++ " + level, "no mpicxx here")
        subprocess.run(["mpicc", level, "-o", name, name + ".o", "-Wl,--defsym=more=main"], check=True)
    case("C and C++, " + level, name, {"sum_all", "swap"} | (CXX if with_cxx else set()), C | (CXX if with_cxx else set()))
    if not shutil.which("mpifort"):
        skip("Fortran " + level, "no mpifort here")
        continue
    subprocess.run(["mpifort", level, "-fno-inline", "-fno-ipa-cp", "-o", "f" + level, HERE + "wrap.f90"], check=True)
    case("Fortran, " + level, "f" + level, {"__sums_MOD_total"}, {"__sums_MOD_total"})
end()
