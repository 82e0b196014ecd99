# timeout: 600
"""Who hangs and why, under real Open MPI: live, and from the files alone.  verdict_more.py has the rest."""
from common import end
from verdicts import aborted, count, hang, healthy, hung

hang("missing", 4, hung("missing-in-collective", [2]))
hang("op", 4, hung("mismatched-collective", [2]))
hang("tag", 4, hung("unmatched-receive", [0, 1]))
hang("send_cycle", 3, hung("wait-cycle", [0, 1, 2]))
hang("comms", 4, hung("wait-cycle", [0, 1, 2, 3]))
hang("finalize", 2, hung("early-exit", [1]))
hang("exit", 4, aborted("early-exit", [2]), live=False)
hang("die", 4, aborted("dead-rank", [2]), live=False)
hang("stop", 4, hung("dead-rank", [2]), linger=11)
healthy("compute", 4)
healthy("moving", 3)
healthy("server", 3)
healthy("waits", 3)
count.show()
end()
