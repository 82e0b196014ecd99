# timeout: 900
"""Fortran: every workload of workloads/fortran with 1, 2 and 4 ranks under the MPI that mpifort stands for, and with up
to 2 under MPICH (it spins: 4 ranks on 2 cores take minutes), each held to its own truth, number by number."""
import json
import os
import re
import shutil

from common import BUILD, TOP, check, end, environment, hpctop, make, report, run, skip, skip_all, traces
from compare import differences
from fortran_more import BINDINGS, constants, spawned, unsound
# Name, arguments, the rank counts beyond 1.
PROGRAMS = [("pingpong_sweep", [], (2, 4)), ("pingpong_classic", ["5000", "30"], (2, 4)), ("halo", [], (2, 4)),
            ("callback", [], (2,))]
PROGRAMS += [("%s_%s" % (name, binding), [], (2, 4)) for name in ("collectives", "requests", "communicators", "constants")
             for binding in BINDINGS]
MPICH = os.path.join(TOP, "build/mpich")


def job(label, launcher, program, arguments, ranks):
    folder, truth = "trace-" + label.replace(" ", "-"), os.path.abspath("truth.json")
    if os.path.exists(truth):
        os.remove(truth)
    done = run([launcher, "-n", str(ranks), program] + arguments, environment(folder, TRUTH=truth))
    if done.code == 77 and run([launcher, "-n", str(ranks), program] + arguments, environment(None, False)).code == 77:
        return skip(label, "this MPI does not have it")
    if not check(label + " runs", done.code == 0 and os.path.exists(truth), done):
        return None
    check(label + " has a file a rank", len(traces(folder)) == ranks, "%d files" % len(traces(folder)))
    with open(truth) as f:
        want = json.load(f)
    rep = report(folder)
    wrong = differences(want, rep) if rep else ["no report"]
    return check(label, not wrong, "; ".join(wrong[:12]))


def all_of(name, launcher, folder, most):
    known = unsound(launcher)
    for program, arguments, counts in PROGRAMS:
        if program in known:
            skip("%s %s" % (name, program), "without libtrace.so too: " + known[program])
            continue
        only = os.environ.get("ONLY")
        for ranks in (1,) + counts:
            if ranks <= most and (not only or only in program):
                job("%s %s x%d" % (name, program, ranks), launcher, os.path.join(folder, program), arguments, ranks)


def more(name, launcher, folder):
    known = unsound(launcher)

    def launch(ranks, command, trace=None, preload=True):
        return run([launcher, "-n", str(ranks)] + command, environment(trace, preload), timeout=60)
    for binding in BINDINGS:
        if "constants_" + binding not in known:
            constants("%s constants_%s" % (name, binding), launch, os.path.join(folder, "constants_" + binding))
        spawned("%s spawn_%s" % (name, binding), launch, os.path.join(folder, "spawn_" + binding))


def sites(name, compiler, launcher, made):
    """Places of calls, as the report shows them: lines of the source with those calls, in its program.  Without optimisation: with
    it the compiler gives some calls the lines of others."""
    label, program = name + " places of calls", os.path.abspath("sites-" + name)
    if not check(label + ": built", build(compiler, made, program, "halo.f90", ["-O0", "-g"]).code == 0) or not job(label, launcher, program, [], 2):
        return
    with open(os.path.join(TOP, "workloads/fortran/halo.f90")) as f:
        lines = f.read().lower().split("\n")
    shown = re.findall(r"^ *(MPI_\w+) .* halo\.f90:(\d+) in (\S+)$", hpctop("report", "--all", "trace-" + label.replace(" ", "-")).out, re.M)
    wrong = ["%s at line %s" % (call, line) for call, line, _ in shown if call.lower() not in lines[int(line) - 1]]
    check(label + ": its lines", len(shown) >= 5 and not wrong and {s[2] for s in shown} == {"MAIN__"}, "%s; %s" % (wrong, shown))


# How a program may be linked, and how its compiler may spell names (COMMON blocks too, so only one without MPI's).
LINKED = [("now", "halo.f90", ["-Wl,-z,now", "-pie"]), ("lazy", "halo.f90", ["-Wl,-z,lazy", "-pie"]),
          ("no-pie", "halo.f90", ["-fno-pie", "-no-pie"]), ("no-plt", "halo.f90", ["-fno-plt", "-Wl,-z,relro"]),
          ("no underscore", "pingpong_classic.f", ["-fno-underscoring"]),
          ("two underscores", "pingpong_classic.f", ["-fsecond-underscore"])]


def build(compiler, made, program, source, flags):
    return run([compiler, "-w", "-O1", "-I" + made, "-o", program] + flags +
               [os.path.join(TOP, "workloads/fortran", source)] +
               [os.path.join(made, part) for part in ("truth.o", "truth_c.o")])


def linked(name, compiler, launcher, made):
    for how, source, flags in LINKED:
        program = os.path.abspath("linked-%s-%s" % (name, how.replace(" ", "-")))
        done = build(compiler, made, program, source, flags)
        if re.search("undefined reference to `mpi_init(__)?'", done.err):
            skip("%s linked %s" % (name, how), "this MPI does not have such names")
        elif check("%s linked %s is built" % (name, how), done.code == 0, done):
            job("%s linked %s" % (name, how), launcher, program, [], 2)


# What compilers make of the name of a subroutine.
SPELLINGS = {"one underscore": "%s_", "no underscore": "%s", "two underscores": "%s__", "capitals": "%s"}
SPELT = r"""
#include <mpi.h>
#include <string.h>
void INIT(int *); void FINALIZE(int *); void RANK(int *, int *, int *); void SIZE(int *, int *, int *);
void BARRIER(int *, int *); void NAME(int *, char *, int *, int);
void SENDRECV(void *, int *, int *, int *, int *, void *, int *, int *, int *, int *, int *, int *, int *);
int main(void)
{
    int world, type, me, n, e = 7, in = -1, one = 1, tag = 3, to, from, status[32] = {0};
    INIT(&e);
    world = MPI_Comm_c2f(MPI_COMM_WORLD);
    type = MPI_Type_c2f(MPI_INT);
    RANK(&world, &me, &e);
    SIZE(&world, &n, &e);
    NAME(&world, "  spelt so    ", &e, 14);
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    SENDRECV(&me, &one, &type, &to, &tag, &in, &one, &type, &from, &tag, &world, status, &e);
    BARRIER(&world, &e);
    FINALIZE(&e);
    return in != from || e;
}
"""


def spelt(name, compiler, launcher, library):
    """The same calls by each name that a compiler may give them."""
    for how, form in SPELLINGS.items():
        label, text = "%s spelt with %s" % (name, how), SPELT
        for word, call in (("INIT", "init"), ("FINALIZE", "finalize"), ("RANK", "comm_rank"), ("SIZE", "comm_size"),
                           ("BARRIER", "barrier"), ("NAME", "comm_set_name"), ("SENDRECV", "sendrecv")):
            symbol = form % ("mpi_" + call)
            text = re.sub(r"\b%s\(" % word, (symbol.upper() if how == "capitals" else symbol) + "(", text)
        program = os.path.abspath(label.replace(" ", "-"))
        with open(program + ".c", "w") as f:
            f.write(text)
        built = run([compiler, "-o", program, program + ".c", library])
        if built.code != 0:
            skip(label, "this MPI does not have such names")
            continue
        done = run([launcher, "-n", "2", program], environment("trace-" + os.path.basename(program)))
        rep = report("trace-" + os.path.basename(program))
        seen = {c["name"]: c["calls"] for c in rep["calls"]} if rep else None
        want = {"MPI_" + call: 2 for call in ("Init", "Comm_rank", "Comm_size", "Comm_set_name", "Sendrecv", "Barrier", "Finalize")}
        pairs = sorted((p["src"], p["dst"], p["messages"], p["bytes"]) for p in rep["pairs"]) if rep else None
        check(label, done.code == 0 and seen == want and pairs == [(0, 1, 1, 4), (1, 0, 1, 4)], "%s; %s; %s" % (done, seen, pairs))
        check(label + ": text", hpctop("dump", "trace-" + os.path.basename(program)).out.count('name="spelt so"') == 2)


def large(name, compiler, launcher, made):
    program = os.path.abspath("large_count-" + name)
    if build(compiler, made, program, "large_count.f90", []).code == 0:
        job(name + " large_count x2", launcher, program, [], 2)
    else:
        skip(name + " large_count x2", "the mpi_f08 of this MPI has no large counts")


def own_names():
    """A function of the program's that is called like one of MPI's Fortran names stays the program's."""
    with open("own.c", "w") as f:
        f.write("int mpi_send(int n);\nint mpi_send(int n) { return 40 + n; }\n")
    with open("caller.c", "w") as f:
        f.write("#include <mpi.h>\n#include <stdio.h>\nint mpi_send(int n);\nvoid mpi_barrier_(int *, int *);\n"
                "int main(int c, char **v) { int world, e = -1; MPI_Init(&c, &v);\n"
                "world = MPI_Comm_c2f(MPI_COMM_WORLD); mpi_barrier_(&world, &e);\n"
                'printf("%d %d\\n", mpi_send(2), e); MPI_Finalize(); return 0; }\n')
    built = run(["gcc", "-shared", "-fPIC", "-o", "libown.so", "own.c"])
    if built.code == 0:
        built = run(["mpicc", "-o", "caller", "caller.c", "-L.", "-lown", "-Wl,-rpath," + os.getcwd(), "-lmpi_mpifh"])
    if built.code != 0:
        return skip("own names", "the MPI of mpicc has no libmpi_mpifh")
    done = run(["mpirun", "-n", "1", "./caller"], environment("trace-own"))
    rep = report("trace-own")
    seen = {c["name"] for c in rep["calls"]} if rep else set()
    return check("own names", done.out == "42 0\n" and "MPI_Barrier" in seen and "MPI_Send" not in seen,
                 "%s; %s" % (done, sorted(seen)))


def nested(name, folder):
    """What a callback calls is in the trace, once, as nested; what a Fortran layer calls in C is not in it at all."""
    lines = [line for line in hpctop("dump", folder).out.splitlines() if "flags=nested" in line]
    calls = sorted(word for line in lines for word in line.split() if word.startswith("MPI_"))
    check(name + " nested calls", calls == sorted(2 * ["MPI_Comm_size", "MPI_Comm_dup", "MPI_Comm_free"]), calls)
    plain = hpctop("dump", folder.replace("callback", "requests_f08"))
    check(name + " no twins", plain.code == 0 and "MPI_Waitsome" in plain.out and "flags=nested" not in plain.out,
          plain)


if not shutil.which("mpifort") or not shutil.which("gfortran"):
    skip_all("no Fortran compiler for MPI here")
all_of("default", "mpirun", os.path.join(BUILD, "workloads/fortran"), 4)
if not os.environ.get("ONLY"):
    nested("default", "trace-default-callback-x2")
    sites("default", "mpifort", "mpirun", os.path.join(BUILD, "workloads/fortran"))
    more("default", "mpirun", os.path.join(BUILD, "workloads/fortran"))
    large("default", "mpifort", "mpirun", os.path.join(BUILD, "workloads/fortran"))
    linked("default", "mpifort", "mpirun", os.path.join(BUILD, "workloads/fortran"))
    spelt("default", "mpicc", "mpirun", "-lmpi_mpifh")
    own_names()
if shutil.which("mpifort.mpich") and shutil.which("mpirun.mpich"):
    made = make("fortran", "BUILD=" + MPICH, "MPIFC=mpifort.mpich")
    if check("MPICH's are built", made.code == 0, made):
        all_of("MPICH", "mpirun.mpich", os.path.join(MPICH, "workloads/fortran"), 2)
        if not os.environ.get("ONLY"):
            nested("MPICH", "trace-MPICH-callback-x2")
            sites("MPICH", "mpifort.mpich", "mpirun.mpich", os.path.join(MPICH, "workloads/fortran"))
            more("MPICH", "mpirun.mpich", os.path.join(MPICH, "workloads/fortran"))
            linked("MPICH", "mpifort.mpich", "mpirun.mpich", os.path.join(MPICH, "workloads/fortran"))
            spelt("MPICH", "mpicc.mpich", "mpirun.mpich", "-lmpichfort")
            large("MPICH", "mpifort.mpich", "mpirun.mpich", os.path.join(MPICH, "workloads/fortran"))
else:
    skip("MPICH", "mpifort.mpich or mpirun.mpich is missing")
end()
