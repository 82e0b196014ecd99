# long
# timeout: 300
"""The race of loader.py for long: 4000 loads of a module, lazy and bound at once, against communicators in a loop."""
import os
import subprocess

from common import TOP, calls, check, end, environment, report, run

HERE = os.path.join(TOP, "tests/e2e/loader")
LOADS = 4000

subprocess.run(["mpicc", "-w", "-O1", "-o", "race", os.path.join(HERE, "race.c"), "-ldl", "-lpthread"], check=True)
for how in ("lazy", "now"):
    subprocess.run(["cc", "-w", "-O1", "-shared", "-fPIC", "-Wl,-z," + how, "-o", how + ".so", os.path.join(HERE, "part.c")], check=True)
    for turn in range(3):
        name = "%s, %d" % (how, turn)
        done = run(["./race", str(LOADS), "./%s.so" % how], environment(name), 300)
        check("%d loads while communicators are made: %s" % (LOADS, name), (done.code, done.out) == (0, "all loaded\n"), done)
        rep = report(name)
        seen = calls(rep).get("MPI_Address", {}).get("calls") if rep else None
        # Open MPI alone has that name still.
        check("calls of what was loaded: " + name, rep and (seen == LOADS or not rep["job"]["mpi"].startswith("Open MPI")), seen)
end()
