#!/usr/bin/env python3
"""launch.py RANKS COMMAND..: starts that many processes, as torchrun would: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
MASTER_PORT, and JOB_FOLDER, a new folder that they share.  Its exit is the first that is not 0; who is left when one fails is killed.

launch.py --rank COMMAND..: below mpirun.  Either way each rank has an NCCL_HOSTID of its own, without which NCCL refuses
two ranks on one GPU."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def rank_of(env):
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
        if name in env:
            return env[name]
    return "0"


def main():
    if sys.argv[1] == "--rank":
        os.environ.setdefault("NCCL_HOSTID", "rank" + rank_of(os.environ))
        os.execvp(sys.argv[2], sys.argv[2:])
    ranks, command = int(sys.argv[1]), sys.argv[2:]
    folder = tempfile.mkdtemp(prefix="job-")
    with socket.socket() as s:  # a port that nobody has
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    running = []
    for r in range(ranks):
        env = dict(os.environ, RANK=str(r), WORLD_SIZE=str(ranks), LOCAL_RANK=str(r), JOB_FOLDER=folder,
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=port, NCCL_HOSTID="rank%d" % r)
        running.append(subprocess.Popen(command, env=env))
    code = 0
    while running:
        for p in list(running):
            if p.poll() is None:
                continue
            running.remove(p)
            if p.returncode and not code:
                code = p.returncode if p.returncode > 0 else 128 - p.returncode
                for other in running:
                    other.send_signal(signal.SIGKILL)
        time.sleep(0.01)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(code)


main()
