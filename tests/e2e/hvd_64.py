# timeout: 420
# alone
# long
"""64 ranks with a Horovod loop each, and one fault: named, rank and tensor, by both commands, while the job hangs and from
its files; a healthy one is not."""
from common import check, end, mpirun, workload
from hvd import Hung, look, verdict

RANKS, ODD = 64, 37

job = mpirun(RANKS, [workload("hvd_standin"), "-s", "12", "-c", "100000", "-x", "200000"], "healthy", timeout=200)
check("healthy: the program ends", job.code == 0 and job.out.count("done after 12 steps") == RANKS, job)
found = look("healthy", 30)
f = found and found["verdict"]
check("healthy: not hung", f and f["state"] != "hung", f)
check("healthy: one set of 64 ranks, 12 steps",
      found and [(len(s["ranks"]), s["steps"]) for s in found["sets"]] == [(RANKS, 12)], found and found["sets"])
said = verdict("healthy", 30)
check("healthy: by hpctop verdict", said and said["state"] in ("healthy", "slow"), said)
for fault in ("missing", "name", "loopdead"):
    hung = Hung(fault, fault, RANKS, ODD, "-c", "100000", "-a", "4")
    hung.live(5, 60)
    hung.over()
end()
