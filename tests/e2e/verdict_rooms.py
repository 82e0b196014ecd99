# timeout: 900
# long
"""Windows, files, topologies, intercommunicators, threads: who hangs there and why; and more healthy programs in which
somebody waits for as long as the job lasts."""
import os

from common import end
from verdicts import aborted, count, hang, healthy, hung

os.environ["OMPI_MCA_osc"] = "^rdma,ucx"  # these need hardware, or fail without
MISSING, MISMATCH, UNMATCHED, CYCLE = "missing-in-collective", "mismatched-collective", "unmatched-receive", "wait-cycle"

for name, ranks, want in (
        ("win_lock", 4, hung(CYCLE, [1])),
        ("win_lock_order", 4, hung(CYCLE, [1, 2])),
        ("win_fence", 4, hung(MISSING, [2])),
        ("win_post", 4, hung(MISSING, [1])),
        ("file_all", 4, hung(MISSING, [2])),
        ("file_close", 4, hung(CYCLE, [0, 1, 2, 3])),
        ("split", 4, hung(MISSING, [2])),
        ("inter_root", 4, hung(MISMATCH, [0, 1, 2, 3])),
        ("neighbor", 4, hung(MISSING, [2])),
        ("neighbor_other", 4, hung(CYCLE, [0, 1, 2, 3])),
        ("ssend_self", 4, hung(CYCLE, [0])),
        ("lock_order", 2, hung(CYCLE, [0, 1]))):
    hang(name, ranks, want, program="hang_more")
hang("truncate", 4, aborted(UNMATCHED, [0, 1]), live=False, program="hang_more")

for name, ranks, states in (("file", 4, ("slow",)), ("io_server", 4, ()), ("idle_workers", 4, ()), ("idle_group", 4, ()), ("alone", 3, ()),
                            ("spawned", 3, ()), ("ibarrier", 4, ()), ("win_lock", 3, ()), ("win_wait", 3, ()), ("file_all", 4, ()),
                            ("types", 4, ()), ("neighbor", 4, ())):
    healthy(name, ranks, states, program="hang_not_more", files=ranks + (name == "spawned"))
count.show()
end()
