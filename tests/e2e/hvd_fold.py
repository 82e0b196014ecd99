# timeout: 120
# waits
"""The loop of the stand-in for Horovod: its rounds are told from data, folded, none is lost, and idling costs no disk."""
import re

from chunks import EVENTS, committed
from common import calls, check, end, hpctop, mpirun, report, traces, workload

ROUND = re.compile(r" MPI_Allreduce .*flags=coll\+control .*polls=(\d+)")
DATA = re.compile(r" MPI_Allreduce .*flags=coll .*sequence=(\d+)")


def idle(name, seconds, *more):
    job = mpirun(3, [workload("hvd_standin"), "-s", "5", "-f", "idle", "-d", str(seconds * 1000), "-x", "90000"] + list(more),
                 name, timeout=100)
    check(name + ": the program ends", job.code == 0 and job.out.count("done after 5 steps") == 3, job)
    rep = report(name)
    if not check(name + ": there is a report", rep is not None):
        return
    made = calls(rep)["MPI_Allreduce"]["calls"] if not more else calls(rep)["MPI_Gather"]["calls"]
    check(name + ": the loop ran on", made > 3 * 50 * seconds, made)
    sizes = [committed(p, EVENTS) for p in traces(name)]
    check(name + ": less than 1 KB a second and rank", sizes and 0 < max(sizes) < 1024 * seconds, (sizes, made))
    dump = hpctop("dump", name).out
    data = [int(n) for n in DATA.findall(dump)]
    check(name + ": the data operations are told from rounds", len(data) == 3 * 5, data)
    check(name + ": and have the same numbers on all ranks", sorted(data) == sorted(data[:5] * 3), data)
    if not more:
        folded = sum(int(n) for n in ROUND.findall(dump))
        check(name + ": every round is counted", folded + len(data) == made, (folded, len(data), made))
        check(name + ": the words are there", "ROUND and " in dump and " in=7f out=7f" in dump and " in=6 out=6" in dump, dump)
    check(name + ": names are there", "allreduce.layer3.weight" in dump, dump[-500:])


idle("cached", 8)
idle("uncached", 8, "-k", "0")
end()
