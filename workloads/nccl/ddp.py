"""ddp.py [STEPS [WIDTH]]: PyTorch's DistributedDataParallel on NCCL where there is a GPU, on Gloo and the CPU where there is
none; two processes may share a GPU.  Ranks, size and address come from the environment, as of torchrun.  After STEPS steps of training
come TIMES all-reduces of 4 MiB by hand.  Truth: those TIMES on each rank; of the steps at least one all-reduce each; all ranks
have the same weights in the end.  Prints `step_ms`, the median."""
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

TIMES = 7
steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
width = int(sys.argv[2]) if len(sys.argv) > 2 else 256
cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count()) if cuda else torch.device("cpu")
if cuda:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if cuda else "gloo", init_method="env://")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)).to(device)
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if cuda else None)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
took = []
for step in range(steps):
    began = time.monotonic()
    optimizer.zero_grad()
    model(torch.randn(64, width, device=device)).pow(2).mean().backward()
    optimizer.step()
    if cuda:
        torch.cuda.synchronize()
    took.append(time.monotonic() - began)
data = torch.full((1 << 20,), float(rank + 1), device=device)
for _ in range(TIMES):
    dist.all_reduce(data)
want = sum(range(1, size + 1)) * float(size) ** (TIMES - 1)
weights = torch.cat([p.detach().flatten() for p in model.parameters()])
least, most = weights.clone(), weights.clone()
dist.all_reduce(least, op=dist.ReduceOp.MIN)
dist.all_reduce(most, op=dist.ReduceOp.MAX)
good = bool((data == want).all()) and bool((least == most).all())
if rank == 0:
    print("backend %s\nstep_ms %.3f" % ("nccl" if cuda else "gloo", statistics.median(took) * 1e3))
dist.barrier()
dist.destroy_process_group()
sys.exit(0 if good else 1)
