# timeout: 300
"""Who hangs in NCCL and why, on the GPU double: live, and from the files alone after kill -9.  nccl_hangs_more.py has the
rest."""
import os
import re

from nccl_faults import DOUBLE, PROGRAMS, fault, healthy_gpu, states
from common import check, end, environment, run
from verdicts import count, hung

MISMATCH, CYCLE = "mismatched-collective", "wait-cycle"

fault("missing", hung("missing-in-collective", [1]), "rank 1 has not come to ncclAllReduce on nccl")
fault("count", hung(MISMATCH, [1]), "gave 512 x float32 to ncclAllReduce where the other 2 gave 1024 x float32")
fault("order", hung(CYCLE, [0, 1, 2]), "in different orders")
fault("blocked", hung("device", [1]), "the stream of rank 1 has not come to ncclAllReduce")
fault("plain", hung("inside-operation", []), "none completes it", GPU_DOUBLE_FAULT="block:1:4")
fault("barrier", hung(CYCLE, [1]), "which wait in MPI_Barrier for it")
healthy_gpu("long")
healthy_gpu("behind", seconds=6)
healthy_gpu("unblock", seconds=3)
count.show()

# What is known of an operation, and how: by events, up to enqueued without a driver, and nothing after a capture.
text = states("allreduce_sweep", ["1024"])
check("operations complete, by events", "nccl.states: by events" in text and text.count(": completed ncclAllReduce") == 40
      and text.count("flags=by_events") == 40, text[:500])
text = states("allreduce_sweep", ["1024"], GPU_DOUBLE_DRIVER="0")
check("without a driver they are known up to enqueued", "nccl.states: known up to enqueued" in text
      and text.count(": enqueued ncclAllReduce") == 40 and text.count("flags=blind") == 40, text[:500])
text = states("hang_not", ["graph", "0"])
check("what goes into a graph is captured", text.count(": captured ncclAllReduce") == 2, text[:500])
text = states("hang_not", ["unblock", "0"])
check("a launch after the call's return is so marked", "by_events+approximate" in text, text[:500])
done = run(["mpirun", "-n", "2", os.path.join(PROGRAMS, "hang_not"), "reset", "0.5"],
           environment("reset", True, LD_LIBRARY_PATH=DOUBLE))
check("the first cudaDeviceReset is noticed: no event of before is used", done.code == 0 and
      "context that is gone" not in done.err, done)
text = states("hang_not", ["reset", "1"])
known = re.findall(r"^op (\d+): (\w+) .*flags=(\S+)", text, re.M)
check("operations after cudaDeviceReset are watched like those before",
      sum(int(number) > 4 and state == "completed" for number, state, how in known) > 1 and "stopped" not in text, text[-3000:])
check("what was under way is not taken for something that hangs",
      all(state in ("completed", "aborted") or "blind" in how for number, state, how in known), text[-3000:])
text = states("hang_not", ["unblock", "1"], GPU_DOUBLE_FAULT="lost:0:3")
check("a driver that gives up during launches is told of", "watch=stopped" in text, text[:500])
end()
