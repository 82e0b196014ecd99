# timeout: 200
# waits
"""MPI_Pcontrol switches recording off and on where HPCTOP_PCONTROL says so: what is recorded is exact, what comes after an
interval is matched with what the other ranks recorded, and nothing is claimed about a rank whose recording is off."""
import os
import re
import shutil
import subprocess

from common import TOP, calls, check, end, environment, hpctop, mpirun, report, run, skip, start, stop, wait_for

PYTHON3 = "/usr/bin/python3"  # the one of python3-mpi4py
RANKS = 4
# calls, bytes sent, bytes received; see switches.c
RECORDED = {"MPI_Init": (4, 0, 0), "MPI_Comm_rank": (4, 0, 0), "MPI_Comm_size": (4, 0, 0), "MPI_Irecv": (44, 0, 224),
            "MPI_Isend": (44, 224, 0), "MPI_Waitall": (40, 0, 0), "MPI_Allreduce": (72, 288, 288), "MPI_Recv_init": (4, 0, 16),
            "MPI_Pcontrol": (8, 0, 0), "MPI_Recv": (1, 0, 4), "MPI_Wait": (12, 0, 0),
            "MPI_Request_free": (4, 0, 0), "MPI_Type_free": (4, 0, 0), "MPI_Win_free": (4, 0, 0), "MPI_Comm_free": (8, 0, 0),
            "MPI_Finalize": (4, 0, 0)}


def seen_in(folder):
    rep = report(folder)
    return rep, {name: (c["calls"], c["bytes_sent"], c["bytes_received"]) for name, c in calls(rep).items()} if rep else {}


def switched(what, command, folder, setting, more, times=1):
    """A run that is switched off `times` times on each rank; `more`: what differs from RECORDED."""
    done = run(command, environment(folder, HPCTOP_PCONTROL=setting))
    want = {name: n for name, n in dict(RECORDED, **more).items() if n}
    check(what + ": runs as without", done.code == 0 and
          sorted(done.out.split("\n")) == [""] + ["%d of %d" % (r, RANKS) for r in range(RANKS)], done)
    rep, seen = seen_in(folder)
    if not check(what + ": exactly the calls while it is on", seen == want, {k: (seen.get(k), want.get(k)) for k in
                                                                        set(seen) | set(want) if seen.get(k) != want.get(k)}):
        return
    off = rep["job"]["recording_off"]
    check(what + ": when it was off", off[-1:] and off[-1]["ranks"] == list(range(RANKS)) and all(s["from_s"] < s["to_s"] <= rep["job"]["elapsed_s"] for s in off), off)
    check(what + ": and for how long", all(r["off_s"] >= 0.02 and r["mpi_s"] <= r["wall_s"] for r in rep["ranks"]) and
          all(r["wall_s"] + r["off_s"] <= rep["job"]["elapsed_s"] for r in rep["ranks"]), rep["ranks"])
    matched = sorted((c["instances"], c["incomplete"]) for c in rep["collectives"] if c["name"] == "MPI_Allreduce")
    # WORLD: 12 that all are on for, 3 that some are; the parts 2 and 1, of which one and one; their copies 3
    check(what + ": collectives are matched, also of communicators made while off",
          matched == [(1, 1), (1, 1), (3, 0), (3, 0), (12, 3)], rep["collectives"])
    page = " ".join(hpctop("report", "--all", folder).out.split())
    check(what + ": the page says so", re.search(r"recording was off from \S+ [mu]?s to \S+ [mu]?s \(MPI_Pcontrol\), on rank", page) and
          "messages without their other end: 0 sent, 0 received" in page, page[-1200:])
    verdict = hpctop("verdict", folder)
    check(what + ": healthy", verdict.code == 0, verdict)
    found = hpctop("check", folder)
    check(what + ": no errors", found.code == 0, found)
    dump = hpctop("dump", folder).out
    check(what + ": the dump says so", len(re.findall(r"^recording was off from \S+ to \S+ \(MPI_Pcontrol\)$", dump, re.M)) ==
          RANKS * times and dump.count(" LOST count=0") == RANKS * times, dump[:600])
    check(what + ": all requests are known", re.findall(r"^unknown requests: (\d+)$", dump, re.M) == ["0"] * RANKS, dump[:600])


def programs():
    for family, launcher in (("openmpi", "mpirun"), ("mpich", "mpiexec.hydra")):
        if not shutil.which("mpicc." + family):
            skip(family, "no mpicc.%s here" % family)
            continue
        program = "./switches-" + family
        subprocess.run(["mpicc." + family, "-O1", "-Wall", "-Wextra", "-o", program, TOP + "/tests/e2e/pcontrol/switches.c"], check=True)
        launch = [launcher, "-n", str(RANKS), program]
        switched(family, launch, family, "1", {})
        switched(family + ", off at first", launch + ["begins off"], family + "-off", "off",
                 {"MPI_Comm_rank": None, "MPI_Comm_size": None, "MPI_Pcontrol": (12, 0, 0)}, 2)
        done = run(launch, environment(family + "-unset"))
        rep, seen = seen_in(family + "-unset")
        check(family + ": without the setting all is recorded", done.code == 0 and seen.get("MPI_Allreduce") == (104, 416, 416) and
              seen["MPI_Start"] == (4, 0, 0) and seen["MPI_Recv_init"] == (4, 0, 16) and rep["job"]["recording_off"] == [] and rep["ranks"][0]["off_s"] == 0, seen)


def waits():
    """All wait for a rank whose recording is off: it may do anything."""
    program = "./switches-openmpi"
    job = start(3, [program, "waits"], "waits", HPCTOP_PCONTROL="1")

    def long_enough():
        rep = report("waits")
        ranks = {r["rank"]: r for r in rep["ranks"]} if rep else {}
        return rep if len(ranks) == 3 and ranks[1]["state"] == "off" and (ranks[0]["inside_s"] or 0) > 3 else None

    rep = wait_for(long_enough)
    if check("off now: its state says so", rep is not None, report("waits")):
        check("off now: since when", [s["ranks"] for s in rep["job"]["recording_off"]] == [[1]] and
              rep["job"]["recording_off"][0]["to_s"] is None, rep["job"])
        check("off now: it does not compute", rep["ranks"][1]["wall_s"] < 2 < rep["ranks"][1]["off_s"], rep["ranks"])
        verdict = hpctop("verdict", "--hang", "1", "waits")
        check("off now: nobody is said to hang", verdict.code == 1 and
              re.match(r"unknown: recording is off on rank 1 for \S+ s \(MPI_Pcontrol\): what it does is not known", verdict.out) and
              "outside MPI" not in verdict.out, verdict)
        page = hpctop("report", "--all", "waits").out
        check("off now: the page says so", "recording is off since" in page and "is outside MPI" not in page, page[:800])
        dump = hpctop("dump", "waits").out
        check("off now: the dump says so", len(re.findall(r"^recording is off since ", dump, re.M)) == 1, dump[:600])
    stop(job)


FORTRAN = """program switches
    use mpi
    integer :: ierr, i
    call mpi_init(ierr)
    do i = 1, 3
        call mpi_barrier(MPI_COMM_WORLD, ierr)
    end do
    call mpi_pcontrol(0)
    do i = 1, 5
        call mpi_barrier(MPI_COMM_WORLD, ierr)
    end do
    call mpi_pcontrol(1)
    do i = 1, 2
        call mpi_barrier(MPI_COMM_WORLD, ierr)
    end do
    call mpi_finalize(ierr)
end program
"""
PYTHON = """from mpi4py import MPI
world = MPI.COMM_WORLD
for _ in range(3):
    world.Barrier()
MPI.Pcontrol(0)
for _ in range(5):
    world.Barrier()
sent = world.isend(world.rank, 1 - world.rank)
MPI.Pcontrol(1)
other = world.recv(source=1 - world.rank)
sent.wait()
for _ in range(2):
    world.Barrier()
"""


def languages():
    with open("switches.f90", "w") as f:
        f.write(FORTRAN)
    built = run(["mpifort", "-o", "switches-fortran", "switches.f90"])
    if check("Fortran: is compiled", built.code == 0, built):
        done = mpirun(2, ["./switches-fortran"], "fortran", HPCTOP_PCONTROL="1")
        seen = seen_in("fortran")[1]
        check("Fortran: exactly the calls while it is on", done.code == 0 and seen.get("MPI_Barrier") == (10, 0, 0), (done, seen))
    if run([PYTHON3, "-c", "import mpi4py"]).code:
        skip("Python", "no mpi4py")
        return
    done = mpirun(2, [PYTHON3, "-c", PYTHON], "python", HPCTOP_PCONTROL="1")
    rep, seen = seen_in("python")
    check("Python: exactly the calls while it is on", done.code == 0 and seen.get("MPI_Barrier") == (10, 0, 0) and
          "MPI_Isend" not in seen and "MPI_Wait" in seen, (done, seen))
    check("Python: all requests are known", rep["job"]["unknown_requests"] == 0, rep["job"])


programs()
waits()
languages()
end()
