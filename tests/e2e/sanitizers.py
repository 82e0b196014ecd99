# timeout: 180
# waits
"""Programs built with a sanitizer, by gcc and clang: they start, find in themselves what they find without libtrace.so
and nothing of ours, and are recorded.  hpctop record and doctor know what AddressSanitizer wants of the order of libraries."""
import os
import re
import shutil

from common import HPCTOP, LIBTRACE, check, end, environment, hpctop, mpirun, report, run, skip

PROGRAM = r"""
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static MPI_Comm comm;
static void *beside(void *of)
{
    return of;
}
int main(int argc, char **argv)
{
    int me, n, x = 0, sum, counts[2] = {3, 5}, shifts[2] = {0, 3}, in[8], out[5] = {1, 2, 3, 4, 5};
    pthread_t thread;
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    pthread_create(&thread, NULL, beside, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 100; i++) {
        MPI_Request r[2];
        MPI_Status s[2];
        char *sent = malloc(100 + 10 * i), came[2000];
        memset(sent, i, 100 + 10 * i);
        MPI_Isend(sent, 100 + 10 * i, MPI_BYTE, 1 - me, i, comm, &r[0]);
        MPI_Irecv(came, 2000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &r[1]);
        MPI_Waitall(2, r, s);
        x += came[0];
        free(sent);
    }
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Allgatherv(out, counts[me], MPI_INT, in, counts, shifts, MPI_INT, comm);
    MPI_Bcast(in, 4, pair, 0, comm);
    MPI_Type_free(&pair);
    MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    if (me == 0)
        printf("sum %d %d\n", sum, in[7]);
    MPI_Finalize();
    return 0;
}
"""
# Our thread allocates and maps; then the program closes what it has not opened, as a daemon does.
CLOSER = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int x = 1, sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 300000; i++)
        MPI_Allreduce(&x, &sum, 1 - i % 2, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    for (int fd = 900; fd < 5000; fd++)
        close(fd);
    MPI_Finalize();
    printf("closed\n");
    return 0;
}
"""
CALLS = {"MPI_Isend": 200, "MPI_Irecv": 200, "MPI_Waitall": 200, "MPI_Allgatherv": 2, "MPI_Bcast": 2, "MPI_Allreduce": 2}
BUILDS = [("gcc", "address", ["-static-libasan"]), ("gcc", "thread", []), ("gcc", "thread", ["-static-libtsan"]), ("gcc", "leak", []),
          ("gcc", "undefined", []), ("clang", "address", []), ("clang", "thread", []), ("clang", "leak", []), ("clang", "undefined", []),
          ("clang", "undefined", ["-shared-libsan"])]


def build(name, compiler, options, program=PROGRAM):
    with open(name + ".c", "w") as f:
        f.write(program)
    return run(["mpicc", "-g", "-o", name, name + ".c"] + options, dict(os.environ, OMPI_CC=compiler))


def ready(label, name, compiler, options, *source):
    if not shutil.which(compiler):
        return skip(label, "there is no " + compiler)
    r = build(name, compiler, options, *source)
    return r.code == 0 or skip(label, "it cannot be built here: " + (r.err.splitlines() or [""])[0])


def clang_libraries():
    r = run(["clang", "-print-file-name=libclang_rt.asan-x86_64.so"]) if shutil.which("clang") else None
    return os.path.dirname(r.out.strip()) if r and r.code == 0 else ""


def findings(r):
    """What kinds of errors the sanitizer said: how many leaks an MPI library has is by chance."""
    return sorted(set(re.findall(r"(?:ERROR|WARNING): (\w+Sanitizer: [a-z -]+)", r.err)))


def is_complete(folder):
    rep = report(folder)
    got = {c["name"]: c["calls"] for c in rep["calls"]} if rep else {}
    return rep and rep["job"]["state"] == "finished" and rep["job"]["lost_records"] == 0 and all(got.get(k) == v for k, v in CALLS.items())


def same(label, bare, with_us, folder):
    check(label + ": the same result", (with_us.code, with_us.out, findings(with_us)) == (bare.code, bare.out, findings(bare)), "%s, and with us %s" % (bare, with_us))
    check(label + ": no race of ours is found", "ThreadSanitizer" not in with_us.err or not re.search(r"^ +#[01] .*libtrace\.so", with_us.err, re.M), with_us.err)
    # Open MPI 5 ends itself under ThreadSanitizer: then there is no whole run to be recorded.
    whole = bare.code in (0, 1, 66)
    check(label + ": the trace is complete", is_complete(folder) if whole else report(folder), with_us)


path = os.pathsep.join(p for p in (clang_libraries(), os.environ.get("LD_LIBRARY_PATH", "")) if p)
env = {"LD_LIBRARY_PATH": path}
for compiler, kind, more in BUILDS:
    label = " ".join([compiler, kind] + more)
    name = label.replace(" ", "-")
    if ready(label, name, compiler, ["-fsanitize=" + kind] + more):
        same(label, mpirun(2, "./" + name, preload=False, **env), mpirun(2, "./" + name, "trace-" + name, **env), "trace-" + name)

for compiler in ("gcc", "clang"):
    label, name = compiler + " thread, closes all descriptors", compiler + "-closer"
    if ready(label, name, compiler, ["-fsanitize=thread"], CLOSER):
        bare, with_us = run(["./" + name], environment(preload=False, **env)), run(["./" + name], environment("trace-" + name, **env))
        check(label, (bare.code, bare.out, findings(bare)) == (with_us.code, with_us.out, findings(with_us)), "%s, and with us %s" % (bare, with_us))

# AddressSanitizer as a shared library looks whether it comes first.
for compiler, more in (("gcc", []), ("clang", ["-shared-libasan"])):
    label, name = compiler + " address, shared", compiler + "-shared"
    if not ready(label, name, compiler, ["-fsanitize=address"] + more):
        continue
    with open(name + ".sh", "w") as f:
        f.write("#!/bin/sh\nexec ./%s\n" % name)
    os.chmod(name + ".sh", 0o755)
    bare = mpirun(2, "./" + name, preload=False, **env)
    for way, command in (("", ["mpirun", "-n", "2", "./" + name]), (", by a script", ["mpirun", "-n", "2", "./%s.sh" % name]),
                         (", by a shell", ["sh", "-c", "mpirun -n 2 ./" + name])):
        folder = "trace-" + (label + way).replace(", ", "-").replace(" ", "-")
        r = run([HPCTOP, "record", "-o", folder, "--"] + command, environment(preload=False, **env))
        same(label + way + ", recorded", bare, r, folder)
    said = hpctop("doctor", "--", "mpirun", "-n", "2", "./" + name, env=environment(preload=False, **env)).out
    said = re.search(r"^note +sanitizer +(\S+) .*set (ASAN_OPTIONS=\S+) or put \1 before", said, re.M)
    if check(label + ": doctor says what to do", said):
        option = said.group(2).split("=", 1)
        same(label + ", by hand", bare, mpirun(2, "./" + name, name + "-1", **dict(env, **{option[0]: option[1]})), name + "-1")
        first = run(["mpirun", "-n", "2", "-x", "HPCTOP_DIR=" + name + "-2", "-x", "LD_PRELOAD=%s:%s" % (said.group(1), LIBTRACE), "./" + name],
                    environment(preload=False, **env))
        same(label + ", the runtime first", bare, first, name + "-2")

# Runtimes of before GCC 9 do not know that option.
for name, text, options in (("old", "int old(void) { return 0; }", ["-shared", "-fPIC", "-Wl,-soname,libasan.so.5", "-o", "libasan.so.5"]),
                            ("user", "int old(void); int main(void) { return old(); }", ["-o", "user", "./libasan.so.5"])):
    with open(name + ".c", "w") as f:
        f.write(text)
    r = run(["cc", name + ".c"] + options)
    check("an old runtime: %s compiles" % name, r.code == 0, r)
r = hpctop("record", "-n", "--", "mpirun", "-n", "2", "./user", env=environment(preload=False))
check("an old runtime is preloaded first", "LD_PRELOAD=libasan.so.5:" + LIBTRACE in r.out, r)

# An MPI library that is not instrumented is full of what MemorySanitizer calls errors: its functions are not called here.
UNCALLED = "#include <mpi.h>\nint main(int n, char **v) { return n > 9 ? MPI_Init(&n, &v) : 7; }"
if ready("clang memory", "memory", "clang", ["-fsanitize=memory"], UNCALLED):
    r = run(["./memory"], environment())
    check("clang memory", r.code == 7 and not r.err, r)
end()
