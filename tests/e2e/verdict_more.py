# timeout: 900
# long
"""The rest of what verdict.py shows, and what Python's lock adds (mpi4py#784)."""
import os
import subprocess

from common import TOP, end, skip
from verdicts import aborted, count, hang, healthy, hung, killed

MISMATCH, UNMATCHED, CYCLE = "mismatched-collective", "unmatched-receive", "wait-cycle"

hang("missing_spin", 4, {"state": ("waiting",), "class": "missing-in-collective", "culprits": [2], "exit": 3}, post=False)
hang("root", 4, hung(MISMATCH, [2]))
hang("count", 4, aborted(MISMATCH, [2]), live=False)
hang("count_fatal", 4, aborted(MISMATCH, [2]), live=False)
hang("source", 4, hung(UNMATCHED, [0, 2]))
hang("comm", 4, hung(UNMATCHED, [0, 1]))
hang("wildcard", 4, hung(UNMATCHED, [0]))  # any rank may have been meant
hang("lost_request", 4, hung(UNMATCHED, [0, 1]))
hang("waitall", 4, hung(UNMATCHED, [0, 1]))
hang("test", 4, hung(UNMATCHED, [0, 1]))
for ranks in (2, 4, 5):
    hang("send_cycle", ranks, hung(CYCLE, list(range(ranks))))
hang("ssend_cycle", 3, hung(CYCLE, [0, 1, 2]))
hang("recv_cycle", 3, hung(CYCLE, [0, 1, 2]))
hang("isend_cycle", 3, hung(CYCLE, [0, 1, 2]))
hang("send_barrier", 3, hung(CYCLE, [0, 1]))
hang("threads", 2, hung(CYCLE, [0, 1]))
hang("fewer", 4, hung("missing-in-collective", [2]))
hang("abort", 4, aborted("early-exit", [2]), live=False)
hang("intercomm", 4, hung("missing-in-collective", [0]))

# Each rank's one thread is in MPI_Comm_dup with Python's lock held, its other thread waits for that lock.
script = os.path.join(TOP, "workloads", "python_dup_lock.py")
python = "/usr/bin/python3"
if subprocess.run([python, "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode:
    skip("mpi4py", "no mpi4py in %s" % python)
else:
    hang("dup_lock", 2, hung(CYCLE, [0, 1]), command=[python, script])

for name, states in (("sleep", ()), ("big_send", ()), ("tests", ()), ("uneven", ("slow",)), ("finalize", ("slow",)),
                     ("bcast", ()), ("threads", ())):
    healthy(name, 4 if name in ("sleep", "uneven", "finalize", "bcast", "tests") else 3, states)
for name in ("moving", "sleep", "waits", "server", "tests", "uneven", "bcast"):
    killed(name, 3)
count.show()
end()
