"""A small network on made-up data, trained with Horovod; with one thing wrong on one rank, on demand.

  train.py [--fault NAME] [--rank R] [--at STEP] [--steps N] [--seconds S] [--compute MS]

Every rank prints "train: rank R pid P", and at the end "train: rank R finished"; the guilty one "train: fault" before
what it does."""
import argparse
import ctypes
import os
import signal
import sys
import time

import torch
import horovod.torch as hvd

parser = argparse.ArgumentParser()
parser.add_argument("--fault", default="none")
parser.add_argument("--rank", type=int, default=1)
parser.add_argument("--at", type=int, default=20)
parser.add_argument("--steps", type=int, default=40)
parser.add_argument("--seconds", type=float, default=0.05)
parser.add_argument("--compute", type=float, default=5)
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(7)
hvd.init()
me, n = hvd.rank(), hvd.size()
guilty = me == options.rank
fault = options.fault
print("train: rank %d pid %d" % (me, os.getpid()), flush=True)

model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
loss_of = torch.nn.CrossEntropyLoss()


def stuck_in_read():
    """A data loader that waits for input that never comes; the read gives the GIL back."""
    end, _ = os.pipe()
    os.read(end, 1)


def hold_the_gil():
    """A C call that never returns and keeps the GIL."""
    ctypes.PyDLL(None).pause()


def out_of_memory():
    """Goes into a memory group of its own that is too small: the kernel kills it.  Where there can be none, SIGKILL."""
    for folder, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = "%s/hpctop-test-%d" % (folder, os.getpid())
        try:
            if not os.path.exists(folder + "/cgroup.procs"):
                continue
            os.mkdir(group)
            with open(os.path.join(group, limit), "w") as f:
                f.write("64M")
            with open(group + "/cgroup.procs", "w") as f:
                f.write(str(os.getpid()))
            eaten = bytearray(1 << 30)
            for i in range(0, len(eaten), 4096):
                eaten[i] = 1
        except OSError:
            continue
    print("train: no memory group can be had here: SIGKILL instead", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def find_barrier():
    """A barrier of all ranks that is not Horovod's: PyTorch's own where Horovod does not use MPI."""
    if os.environ.get("HOROVOD_CONTROLLER") != "gloo":
        from mpi4py import MPI
        return MPI.COMM_WORLD.Barrier
    import torch.distributed as dist
    dist.init_process_group("gloo", rank=me, world_size=n, init_method="tcp://127.0.0.1:%d" % (
        int(os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"]) // 2 + 10000))
    return dist.barrier


barrier = find_barrier() if fault == "barrier" else None


def misbehave(step):
    """What happens at step --at on the guilty rank, or on all; True: no more training here."""
    if fault == "straggler" and guilty:
        time.sleep(options.seconds)
    if step != options.at:
        return False
    if guilty and fault != "none":
        print("train: fault", flush=True)
    if fault == "name":
        hvd.allreduce(torch.ones(1), name="loss/val" if guilty else "loss/train")
    if fault == "checkpoint" and me == 0:
        time.sleep(options.seconds)
    if fault == "idle":
        time.sleep(options.seconds)
    if not guilty:
        return False
    if fault in ("exception", "exit"):
        time.sleep(0.5)  # so that the others have submitted their gradients: else it looks as if all were done
    if fault == "alone":
        time.sleep(1e6)
    elif fault == "read":
        stuck_in_read()
    elif fault == "gil":
        hold_the_gil()
    elif fault == "metric":
        hvd.allreduce(torch.ones(1), name="val_loss")
    elif fault == "exception":
        raise RuntimeError("made up")
    elif fault == "exit":
        sys.exit(1)
    elif fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif fault == "oom":
        out_of_memory()
    elif fault == "barrier":
        barrier()
    return fault in ("join", "uneven")


came = []  # when this rank began to submit, step by step
for step in range(options.steps):
    time.sleep(options.compute / 1000)
    if misbehave(step):
        break
    x, y = torch.randn(16, 32), torch.randint(0, 10, (16,))
    optimizer.zero_grad()
    loss = loss_of(model(x), y)
    came.append("%.4f" % time.monotonic())
    loss.backward()
    optimizer.step()
if fault == "uneven":  # this rank believes that all come to the evaluation now
    hvd.allreduce(torch.ones(1), name="val_accuracy")
if fault == "join":
    hvd.join()
if fault == "straggler":
    with open("came.%d" % me, "w") as f:
        f.write(" ".join(came))
print("train: rank %d finished" % me, flush=True)
