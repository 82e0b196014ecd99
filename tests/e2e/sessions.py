# timeout: 120
"""Programs that use sessions of MPI-4: what comes behind the end of a session is recorded, a crash there is a crash, and
a program that leaves there has finished.  Under MPICH, whose sessions Debian has."""
import json
import os
import shutil
import subprocess

from common import TOP, calls, check, end, environment, hpctop, report, run, skip_all

if not shutil.which("mpicc.mpich") or not shutil.which("mpirun.mpich"):
    skip_all("no MPICH here (Debian's packages mpich and libmpich-dev)")
subprocess.run(["mpicc.mpich", "-w", "-o", "sessions", os.path.join(TOP, "tests/e2e/sessions/sessions.c")], check=True)


def case(steps, state, says="", sessions=1):
    folder = steps.replace(" ", "-")
    command = ["mpirun.mpich", "-n", "2", os.path.abspath("sessions")] + steps.split()
    bare, traced = run(command, environment(preload=False)), run(command, environment(folder))
    for turn in range(5):  # the launcher of MPICH 4.2 may kill a rank that still finalizes when the other has left
        if traced.code or state != "finished" or (report(folder) or {"job": {"state": ""}})["job"]["state"] == state:
            break
        folder = "%s-%d" % (steps.replace(" ", "-"), turn)
        traced = run(command, environment(folder))
    check(steps + ": ends as without", bare.code == traced.code, (bare, traced))
    if bare.code and state == "finished":  # MPICH 4.0 crashes where a second session begins
        state, says, sessions = "aborted", "inside MPI_Session_init", sessions - 1
    rep = report(folder)
    if not check(steps + ": a trace", rep):
        return
    check(steps + ": is " + state, rep["job"]["state"] == state, rep["job"]["state"])
    names = ("MPI_Session_init", "MPI_Allreduce", "MPI_Session_finalize")
    seen = {name: c["calls"] for name, c in calls(rep).items() if name in names}
    last = calls(rep).get("MPI_Session_finalize")
    if says.startswith("crashed") and last and last["calls"] >= sessions:  # the launcher may kill the other rank before it
        seen["MPI_Session_finalize"] = 2 * sessions
    check(steps + ": all sessions are recorded", seen == dict.fromkeys(names, 2 * sessions), seen)
    verdict = json.loads(hpctop("verdict", "--json", folder).out)
    check(steps + ": the verdict", says in verdict["summary"] and (verdict["state"] == "healthy") == (state == "finished"), verdict)


case("session", "finished")
case("session _exit", "finished")
case("session session", "finished", sessions=2)
case("session crash", "aborted", "crashed by SIGSEGV")
end()
