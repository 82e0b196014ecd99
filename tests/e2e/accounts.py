# timeout: 120
"""The account of time, on planted time of each kind (workloads/accounts.c): what the headline starts from, the rows of calls
that have not ended, and sums that hold.  Seconds are compared with the least that a sleep takes."""
import os
import re
import signal
import subprocess
import sys
import time

from common import check, end, hpctop, mpirun, pids, report, start, stop, traces, wait_for, workload

TIMES, PIECE = 20, 0.05


def account(of, name):
    """Seconds of an account."""
    return sum(row["seconds"] for row in of["accounts"] if row["account"] == name)


def total(of):
    return sum(row["seconds"] for row in of["accounts"])


def crowd():
    allowed = os.sched_getaffinity(0)
    cpu = min(allowed)
    os.sched_setaffinity(0, {cpu})
    done = mpirun(4, [workload("accounts"), "crowd"], "crowd")
    os.sched_setaffinity(0, allowed)
    rep = report("crowd")
    if not check("4 ranks on one processor", done.code == 0 and rep, done):
        return
    said = r"4 ranks share 1 processor \(affinity %d\)( with others, or under a limit)?: they wait for one " % cpu
    check("the headline is the processor", re.match(said, rep["job"]["answer"]), rep["job"]["answer"])
    # Three of four wait while one runs; what is not counted at both ends of a run lowers it.
    check("most of the time they wait for it", account(rep, "queued") >= total(rep) / 2, rep["accounts"])
    check("POP's factor", rep["efficiency"]["processor"] is not None and rep["efficiency"]["processor"] < 0.5 and
          rep["efficiency"]["parallel"] < 0.5, rep["efficiency"])


def beside_others():
    """Two ranks alone would wait half of the time."""
    allowed = os.sched_getaffinity(0)
    cpu = min(allowed)
    os.sched_setaffinity(0, {cpu})
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    done = mpirun(2, [workload("accounts"), "crowd"], "beside")
    for one in others:
        one.kill()
        one.wait()
    os.sched_setaffinity(0, allowed)
    rep = report("beside")
    check("2 ranks and 4 other processes on one processor", done.code == 0 and rep and rep["job"]["answer"].startswith(
        "2 ranks share 1 processor (affinity %d) with others, or under a limit: they wait for one " % cpu), (done, rep and rep["job"]))


def asleep():
    done = mpirun(2, [workload("accounts"), "asleep"], "asleep")
    rep = report("asleep")
    if not check("2 ranks that sleep", done.code == 0 and rep, done):
        return
    # The time before the first heartbeats and after the last is not counted: some tenths of 3 s.
    planted = 2 * 3 * TIMES * PIECE
    check("they are asleep", account(rep, "off_cpu") >= planted / 2 and account(rep, "off_cpu") == account(rep["outside_calls"], "off_cpu"),
          (planted, rep["accounts"]))
    check("that is no efficiency", rep["efficiency"]["processor"] is not None and rep["efficiency"]["parallel"] < 0.5, rep["efficiency"])


def in_calls(mode, name, call, words):
    done = mpirun(2, [workload("accounts"), mode], mode)
    rep = report(mode)
    if not check("%s: it runs" % mode, done.code == 0 and rep, done):
        return
    rows = [site for site in rep["sites"] if site["call"] == call]
    # A rank may wait for another in the call, or for a processor: what sleeps is in the call in any case.
    seconds = sum(total(row) for row in rows)
    check("%s: the call's account" % mode, len(rows) == 1 and seconds >= 2 * TIMES * PIECE, rows)
    check("%s: most of it is %s" % (mode, name), account(rows[0], name) >= seconds / 2, rows)
    check("%s: the headline names call and place" % mode, "%% of the time is in %s at accounts.c:" % call in rep["job"]["answer"] and
          words in rep["job"]["answer"], rep["job"]["answer"])


def stopped():
    """One rank is stopped by a signal for 3 s."""
    job = start(2, [workload("accounts"), "barriers"], "stopped")
    begun = wait_for(lambda: len(traces("stopped")) == 2 and [c for c in report("stopped")["calls"] if c["name"] == "MPI_Barrier" and
                                                              c["calls"] > 40])
    if not check("it runs", begun, job.poll()):
        return
    pid = pids("stopped")[0]
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(pid, signal.SIGCONT)
    job.wait()
    rep = report("stopped")
    if not check("it goes on to its end", job.returncode == 0 and rep, job.returncode):
        return
    rank = [row for row in rep["ranks"] if row["pid"] == pid][0]
    check("the headline says which rank stood still", rep["job"]["answer"].startswith("rank %d stood still from " % rank["rank"]),
          (rep["job"]["answer"], rank))
    other = [row for row in rep["ranks"] if row["pid"] != pid][0]
    check("and for how long", 2.5 <= rank["still_s"] and (other["still_s"] or 0) < rank["still_s"] / 2, (rank["still_s"], other["still_s"]))


def not_ended():
    job = start(3, [workload("accounts"), "open"], "open")
    inside = wait_for(lambda: len(traces("open")) == 3 and report("open"))
    rep = wait_for(lambda: [r for r in [report("open")] if r and account(r, "open") >= 2] and report("open"))
    if check("2 ranks wait for a third", inside and rep, rep and rep["accounts"]):
        rows = [site for site in rep["sites"] if site["call"] == "MPI_Barrier"]
        check("their call has a row", len(rows) == 1 and rows[0]["calls"] == 0 and rows[0]["ranks"] == 2 and
              rows[0]["open_s"] >= 2 and account(rows[0], "open") == rows[0]["open_s"] == rows[0]["time_s"], rows)
        row = [c for c in rep["calls"] if c["name"] == "MPI_Barrier"]
        check("also by name", len(row) == 1 and row[0]["open_s"] >= 2, row)
        page = hpctop("report", "--all", "open").out
        check("and on the page", "\n  open " in page and "\n MPI_Barrier " in page, page)
        # Processor time is known up to the last heartbeat that noted it, which may be seconds ago.
        third = lambda: [row for row in report("open")["ranks"] if not row["inside"]]
        sleeps = wait_for(lambda: (lambda rows: len(rows) == 1 and account(rows[0], "off_cpu") > 2 * account(rows[0], "compute"))(third()))
        check("the third sleeps, which is no computing", sleeps, third())
    stop(job)


crowd()
beside_others()
asleep()
in_calls("io", "io", "MPI_File_sync", ", file ")
prices = [p for p in report("io")["prices"] if p["kind"] == "io"]
check("the price has the file, and is a bound", prices and all(p["file"].endswith("synced.dat") and p["at_most"] and p["like"] is None
                                                               for p in prices), prices)
rows = [c for c in report("io")["collectives"] if c["name"] == "MPI_File_close"]
check("a file that is opened twice has one row", len(rows) == 1 and rows[0]["instances"] == 2 and
      rows[0]["communicator"].endswith("synced.dat"), rows)
in_calls("library", "library", "MPI_Comm_dup", "")
stopped()
not_ended()
end()
