# timeout: 90
"""A handler for a fatal signal that was there before us, as the MPI library's is, is called as it is without us:
information, context, mask, stack, flags.  guest_objects/handed.c is the program."""
import os
import signal
import subprocess

from common import TOP, check, end, environment, hpctop, run

SOURCE = os.path.join(TOP, "tests/e2e/guest_objects/handed.c")
# The name makes the library one of MPI's; Open MPI puts no handlers of its own.
BUILD = ["mpicc", "-w", "-O1", "-rdynamic", SOURCE]
subprocess.run(BUILD + ["-DLIBRARY", "-shared", "-fPIC", "-o", "libmpi_stand_in.so", "-ldl"], check=True)
subprocess.run(BUILD + ["-o", "handed", "-L.", "-lmpi_stand_in", "-Wl,-rpath," + os.getcwd(), "-ldl"], check=True)

CASES = ["segv", "abort", "kill", "queue", "segv plain", "abort plain", "segv reset", "abort reset", "kill reset", "queue reset plain",
         "segv onstack", "segv nodefer again", "segv again", "segv reset nodefer again", "abort mask", "segv nodefer mask onstack again"]
OWN = ["segv after", "abort after", "segv signal", "abort signal", "segv restore", "abort restore"]
for case in CASES + OWN:
    folder = case.replace(" ", "-")
    plain = run(["./handed"] + case.split(), environment(None, False, OMPI_MCA_opal_signal="10"), 60)
    done = run(["./handed"] + case.split(), environment(folder, OMPI_MCA_opal_signal="10"), 60)
    good = plain.code is not None and (done.code, done.out) == (plain.code, plain.out) and ("restore" in case or plain.out)
    check("handler as without us: " + case, good, "%s, without %s" % (done, plain))
    if case not in OWN or "restore" in case:
        said = hpctop("dump", folder).out
        check("stacks are there: " + case, "reason=fatal" in said, said[-200:])
end()
