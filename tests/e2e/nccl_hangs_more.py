# timeout: 900
# long
"""The rest of what nccl_hangs.py shows."""
from nccl_faults import fault, healthy_gpu
from common import end
from verdicts import count, hung

MISMATCH, CYCLE, MISSING = "mismatched-collective", "wait-cycle", "missing-in-collective"

fault("in_mpi", hung(CYCLE, [1]), "for rank 1, which waits in MPI_Recv from rank 0, tag 7")
fault("operation", hung(MISMATCH, [1]), "rank 1 called ncclAllGather where the other 2 called ncclAllReduce")
fault("type", hung(MISMATCH, [1]), "1024 x int32")
fault("root", hung(MISMATCH, [1]), "root 1 to ncclBroadcast")
fault("order_host", hung(CYCLE, [1]), ", which wait")
fault("message", hung("unmatched-receive", [0, 1]), "has not called ncclSend")
fault("gives_up", hung("early-exit", [1]), "it has given the communicator up")
fault("init", hung(MISSING, [1]), "rank 1 has not come to ncclCommInitRank")
fault("plain", hung(MISSING, [1]), "the call returned ncclSystemError", GPU_DOUBLE_FAULT="error:1:4")
fault("watched", hung("device", [1]), "NCCL reports ncclRemoteError", GPU_DOUBLE_FAULT="async:1:4")
fault("plain", hung("device", [0]), "the CUDA driver of rank 0 does not answer", GPU_DOUBLE_FAULT="query:0:0,block:1:4")
healthy_gpu("late")
healthy_gpu("deep")
healthy_gpu("streams")
healthy_gpu("graph")
count.show()
end()
