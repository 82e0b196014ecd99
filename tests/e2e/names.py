# timeout: 120
"""Names of stripped programs: exported functions, the nearest one before an unknown function, arguments where functions of
one name differ; and the names that separate debug information has."""
import os
import re

from common import HPCTOP, check, end, mpirun, run

LIBRARY = r"""
#include <mpi.h>
#include <vector>
#define HERE __attribute__((noinline, visibility("default")))
static __attribute__((noinline)) void sum(void *x, MPI_Datatype type)
{
    MPI_Allreduce(MPI_IN_PLACE, x, 1, type, MPI_SUM, MPI_COMM_WORLD);
    __asm__("");
}
namespace field
{
HERE void spread(double &x, const std::vector<double> &) { MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); __asm__(""); }
HERE void spread(int &x, const std::vector<double> &) { MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD); __asm__(""); }
HERE void alone(int *x) { MPI_Scan(MPI_IN_PLACE, x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); __asm__(""); }
HERE void before() { __asm__("nop"); }
static __attribute__((noinline)) void hidden() { MPI_Barrier(MPI_COMM_WORLD); __asm__(""); }
HERE void all(int i)
{
    double d = 1;
    std::vector<double> v;
    spread(d, v);
    spread(i, v);
    alone(&i);
    hidden();
    sum(&i, MPI_INT);
}
}
"""
PROGRAM = "#include <mpi.h>\nnamespace field { void all(int); }\n" \
          "int main() { MPI_Init(0, 0); field::all(1); return MPI_Finalize(); }\n"


def build():
    for name, text in (("lib.cc", LIBRARY), ("app.cc", PROGRAM)):
        with open(name, "w") as f:
            f.write(text)
    made = run(["sh", "-ec", """
        export OMPI_CXX=g++
        mpicxx -O1 -g -fno-toplevel-reorder -shared -fPIC -o libfield.so lib.cc
        mpicxx -O1 -o app app.cc ./libfield.so
        objcopy --only-keep-debug libfield.so libfield.debug
        strip libfield.so app"""])
    return check("programs are built", made.code == 0, made)


def places(folder):
    """The places of each call, and of the callers between them and MPI."""
    text = run([HPCTOP, "report", "--all", folder], dict(os.environ, COLUMNS="200"), timeout=60).out
    where = text[text.index("\nWHERE"):text.index("\nWHAT THIS")]
    return where, text


if build():
    done = mpirun(2, os.path.abspath("app"), "trace")
    check("the job ends", done.code == 0, done)
    where, page = places("trace")
    check("functions of one name: arguments as far as they differ",
          "field::spread(double&, ..)" in where and "field::spread(int&, ..)" in where, where)
    check("another name: without arguments", re.search(r"MPI_Scan .* field::alone\+0x", where), where)
    check("an unknown function: the exported one before it, said as such",
          re.search(r"MPI_Barrier .* near (field::)?before\+", where), where)
    check("a cut place ends as it ends", re.search(r"MPI_Barrier .*before\+0x\w+$", where, re.M), where)
    dump = run([HPCTOP, "dump", "trace"]).out
    check("dump has it whole", re.search(r"^site 0x\S+ - \S+/libfield\.so\+0x\S+ libfield\.so near field::before\+0x\w+$",
                                         dump, re.M), dump[:1500])
    check("what would name them is said once",
          page.count("WHAT WOULD NAME") == 1 and page.count("  libfield.so: ") == 1 and page.count("  app: ") == 1 and
          "HPCTOP_DEBUGINFOD=1" in page, page[-900:])
    built = re.search(r"Build ID: (..)(\S+)", run(["readelf", "-n", "libfield.so"]).out)
    check("by the path of its debug information", built and "/.build-id/%s/%s.debug" % built.groups() in page, page[-900:])
    os.mkdir("bin")
    for name, says in (("dpkg-query", 'case $2 in *.so) echo "libfield1:amd64: $2" ;; *) exit 1 ;; esac'), ("rpm", "exit 1")):
        with open("bin/" + name, "w") as f:
            f.write("#!/bin/sh\n%s\n" % says)
        os.chmod("bin/" + name, 0o755)
    page = run([HPCTOP, "report", "--all", "trace"], dict(os.environ, PATH=os.path.abspath("bin") + ":" + os.environ["PATH"])).out
    check("a file of a package: the name of that with debug information", "  libfield.so: package libfield1-dbgsym\n" in page,
          page[-900:])
    # Debug information that came later has the names.
    linked = run(["objcopy", "--add-gnu-debuglink=libfield.debug", "libfield.so"])
    if check("debug information is linked", linked.code == 0, linked):
        where = places("trace")[0]
        check("then the function bears its name", re.search(r"MPI_Barrier .* lib\.cc:\d+ in field::hidden$", where, re.M), where)
end()
