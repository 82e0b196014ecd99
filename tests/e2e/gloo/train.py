"""train.py [late]: PyTorch on Gloo, with DistributedDataParallel, a ring and a group of two; "late": rank 1 stays away at
the end; "owed": rank 0 waits for a message of it then; "timeout": for longer than the others wait for it; "alone": it has no group; "groups": rank 2 leaves out a reduction in a
group of two once; "pipeline": it receives one message more than rank 1 sends in a step."""
import datetime
import sys
import time

import torch
import torch.distributed as dist

if "alone" in sys.argv:
    sys.exit(0)
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
pair = dist.new_group([0, 1])
data = torch.ones(1000)
dist.all_reduce(data)
dist.broadcast(data, 1)
dist.all_gather([torch.zeros(10) for _ in range(size)], torch.ones(10))
if rank < 2:
    dist.all_reduce(torch.ones(100), group=pair)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))
for _ in range(5):
    model(torch.ones(2, 10)).sum().backward()
for _ in range(4):
    work = dist.isend(data, (rank + 1) % size, tag=7)
    dist.recv(torch.empty(1000), None if rank == 2 else (rank - 1) % size, tag=7)
    work.wait()
works = [dist.all_reduce(torch.ones(n), async_op=True) for n in range(1, 21)]
for work in works:
    work.wait()
if "timeout" in sys.argv:
    short = dist.new_group(timeout=datetime.timedelta(seconds=1), backend="gloo")
    try:
        time.sleep(4 * (rank == 1))
        dist.all_reduce(data, group=short)
    except RuntimeError:
        print("an exception came through", flush=True)
    sys.exit(0)
if "groups" in sys.argv:
    second = dist.new_group([1, 2])
    for step in range(10):
        if rank < 2:
            dist.all_reduce(data, group=pair)
        if rank == 1 or (rank == 2 and step != 6):
            dist.all_reduce(data, group=second)
if "pipeline" in sys.argv:
    for step in range(8):
        for _ in range(4 + (rank == 2 and step == 6)):
            if rank > 0:
                dist.recv(data, rank - 1)
            if rank < 2:
                dist.send(data, rank + 1)
        if rank == 2:
            dist.send(data, 0)
        if rank == 0:
            dist.recv(data, 2)
if "late" in sys.argv and rank == 1:
    time.sleep(1000)
if "owed" in sys.argv and rank == 0:
    dist.recv(data, 1)
dist.barrier()
print("done")
