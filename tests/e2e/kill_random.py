# timeout: 300
# waits
"""kill -9 at random moments: every call that had returned is in the file, in the counters and as a record that can be
read, unless the limit had it overwritten.  KILL_ROUNDS rounds (default 6)."""
import os
import random
import shutil
import signal
import struct
import time

from common import calls, check, end, hpctop, pids, report, start, stop, wait_for, workload

SEED = int(os.environ.get("KILL_SEED", "20170401"))
RANKS = 2


def one(number, delay):
    label = "round %d" % number
    shutil.rmtree("trace", ignore_errors=True)
    if os.path.exists("returned"):
        os.remove("returned")
    job = start(RANKS, [workload("progress"), "returned"], "trace")

    def counts():
        if not os.path.exists("returned") or os.path.getsize("returned") < 8 * RANKS:
            return None
        with open("returned", "rb") as f:
            return struct.unpack("<%dQ" % RANKS, f.read(8 * RANKS))

    if not check(label + ": the job begins", wait_for(lambda: counts() and min(counts()) > 0, step=0.01)):
        stop(job)
        return
    time.sleep(delay)
    for pid in random.sample(pids("trace"), RANKS):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # mpirun was faster: it ends the others when it sees one dead
    stop(job)
    rep = report("trace")
    returned = counts()
    if not check(label + ": the report can be made", rep is not None):
        return
    check(label + ": all ranks are in it", len(rep["ranks"]) == RANKS, rep["ranks"])
    for rank in rep["ranks"]:
        seen = rank["calls"] - 3  # MPI_Init, MPI_Comm_rank, MPI_Comm_size
        want = returned[rank["rank"]]
        check("%s: rank %d, calls" % (label, rank["rank"]), want <= seen <= want + 1, "%d counted, %d returned" % (seen, want))
    overwritten = rep["job"]["recycled_records"]
    dump = hpctop("dump", "trace")
    # A record is a line that begins with a thread's index and two times.
    records = sum(1 for line in dump.out.splitlines() if " MPI_Sendrecv " in line and line[:1].isdigit())
    total = sum(returned)
    check(label + ": records", total <= records + overwritten <= total + RANKS + 3 * RANKS,
          "%d records and %d overwritten, %d returned" % (records, overwritten, total))
    check(label + ": nothing lost, nothing damaged", rep["job"]["lost_records"] == 0 and "damage" not in dump.err,
          "%s %s" % (rep["job"], dump.err[:200]))


random.seed(SEED)
for number in range(int(os.environ.get("KILL_ROUNDS", "6"))):
    one(number, random.random() ** 3)
end()
