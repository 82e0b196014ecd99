# timeout: 200
# waits
"""What the machine itself says while a job with GPUs runs on it: the double's NVML, and a little server in the place of NCCL's
RAS, in the report, its JSON and on the screens; nothing where neither is, where the server does not answer, and afterwards."""
import json
import os
import socket
import subprocess
import threading

from common import BUILD, HPCTOP, check, end, environment, hpctop, run, traces, wait_for
from verdicts import kill_group, start

DOUBLE = os.path.join(BUILD, "gpu_double")
STATUS = """NCCL version 2.28.9 compiled with CUDA 13.0

Job summary
===========

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         2         2         2   RUNNING      OK

Errors
======

Warnings
========
"""


class Server(threading.Thread):
    """RAS of a protocol that its user guide describes; `silent`: takes calls and says nothing; `ranks`: of its job."""

    def __init__(self, silent=False, ranks=2):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.silent, self.heard, self.kept = silent, [], []
        self.status = STATUS.replace("         2         2         2   RUN", "         2%10d%10d   RUN" % (ranks, ranks))
        self.start()

    def run(self):
        while True:
            peer, _ = self.socket.accept()
            if self.silent:
                self.kept.append(peer)
                continue
            for line in peer.makefile():
                self.heard.append(line.strip())
                if line.startswith("CLIENT PROTOCOL"):
                    peer.sendall(b"SERVER PROTOCOL 2\n")
                elif line.startswith("TIMEOUT"):
                    peer.sendall(b"OK\n")
                elif line.startswith("STATUS"):
                    peer.sendall(self.status.encode())
                    break
            peer.shutdown(socket.SHUT_RDWR)
            peer.close()


def look(address, libraries=DOUBLE, gpus=0, ras=False, **more):
    """The report and its JSON, with RAS at `address`; once more where what is wanted did not come within their second."""
    env = dict(os.environ, NCCL_RAS_ADDR=address, LD_LIBRARY_PATH=libraries, **more)
    for _ in range(5):
        rep = json.loads(hpctop("report", "--json", "job", env=env).out)
        text = hpctop("report", "--all", "job", env=env).out
        if (len(rep["node_gpus"]) >= gpus and text.count("  GPU ") >= gpus
                and (not ras or (rep["nccl_ras"] and "RAS" in text.split("THIS NODE")[-1]))):
            break
    return rep, text


os.environ["LD_LIBRARY_PATH"] = DOUBLE
job = start(2, [os.path.join(BUILD, "workloads/nccl/hang_not"), "late", "150"], "job")
del os.environ["LD_LIBRARY_PATH"]
wait_for(lambda: len(traces("job")) == 2 and "gpu.kernels" in hpctop("dump", "job").out, 40)
server, silent = Server(), Server(silent=True)
with socket.socket() as nobody:
    nobody.bind(("127.0.0.1", 0))
    closed = "127.0.0.1:%d" % nobody.getsockname()[1]

    rep, text = look(server.address, gpus=1, ras=True)
    gpus = rep["node_gpus"]
    check("NVML: one GPU, half busy", [(g["name"], g["busy"]) for g in gpus] == [("Double of a GPU", 0.5)], gpus)
    check("NVML: links by their counters", gpus and all(1.8 * 2**30 < g["nvlink_sent_per_s"] < 2.2 * 2**30
                                               and 0.9 * 2**30 < g["nvlink_received_per_s"] < 1.1 * 2**30 for g in gpus), gpus)
    check("NVML: PCIe", [(g["pcie_sent_per_s"], g["pcie_received_per_s"]) for g in gpus] == [(3e8, 2e8)], gpus)
    check("RAS: asked as NCCL's client does", server.heard[:3] == ["CLIENT PROTOCOL 2", "TIMEOUT 2", "STATUS"], server.heard)
    check("RAS: what it says", rep["nccl_ras"] == "1 communicator of 2 ranks RUNNING, OK", rep["nccl_ras"])
    check("the report has both", "GPU 0 Double of a GPU: busy 50" in text and "NCCL's RAS: 1 communicator of 2 ranks RUNNING, OK" in text, text)

    rep, text = look(server.address, gpus=1, GPU_DOUBLE_NVML="no_link")
    check("a card without NVLink: unknown", rep["node_gpus"][0]["nvlink_sent_per_s"] is None and rep["node_gpus"][0]["busy"] == 0.5, rep["node_gpus"])
    rep, text = look(closed, gpus=15, GPU_DOUBLE_NVML="many")
    check("20 GPUs, the second broken: the first 16 but it", len(rep["node_gpus"]) == 15, len(rep["node_gpus"]))
    rep, text = look(server.address, ras=True, GPU_DOUBLE_NVML="stuck")
    check("a driver that never comes back: all but its numbers", rep["node_gpus"] == [] and rep["ranks"] and rep["nccl_ras"], rep["nccl_ras"])
    other = Server(ranks=64)
    rep, text = look(other.address, gpus=1, ras=True)
    said = "RAS at %s (maybe another job's): 1 communicator of 64 ranks RUNNING, OK" % other.address
    check("RAS of another job: told so", rep["nccl_ras"] == said and "  %s\n" % said in text, rep["nccl_ras"])
    for label, address, libraries, more in [("nothing there", closed, "", {}), ("a driver that does not answer", closed, DOUBLE, {"GPU_DOUBLE_NVML": "refuse"}),
                                            ("a RAS that says nothing", silent.address, "", {})]:
        rep, text = look(address, libraries, **more)
        check(label + ": quiet", rep["node_gpus"] == [] and rep["nccl_ras"] is None and "THIS NODE" not in text, text[-300:])

# The screens, in a terminal of tmux's.
name = "hpct-node-%d" % os.getpid()
tmux = ["tmux", "-L", name]
env = dict(os.environ, TERM="xterm-256color", NCCL_RAS_ADDR=server.address, LD_LIBRARY_PATH=DOUBLE)
env.pop("TMUX", None)


def screen():
    return run(tmux + ["capture-pane", "-p"], env).out


shown = run(tmux + ["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "%s job" % HPCTOP], env)
if check("the screen comes up", shown.code == 0, shown):
    wait_for(lambda: "hpctop" in screen(), 20)
    run(tmux + ["send-keys", "0"], env)
    check("the NCCL screen has RAS", wait_for(lambda: "NCCL's RAS: 1 communicator of 2 ranks RUNNING, OK" in screen(), 30), screen())
    run(tmux + ["send-keys", "K"], env)
    check("the GPU screen has NVML", wait_for(lambda: "THIS NODE, NOW" in screen() and "0 Double of a GPU" in screen(), 30), screen())
    run(tmux + ["kill-server"], env)
kill_group(job)
wait_for(lambda: look(server.address)[0]["node_gpus"] == [], 20)  # a killed process is there a little longer
began = len(server.heard)
rep, text = look(server.address)
check("afterwards nobody is asked", rep["node_gpus"] == [] and rep["nccl_ras"] is None and len(server.heard) == began, (rep["node_gpus"], rep["nccl_ras"]))

# A job of MPI alone asks nobody, and loads no driver.
job = start(2, [os.path.join(BUILD, "workloads/hang_not"), "compute", "60"], "job2")
wait_for(lambda: len(traces("job2")) == 2 and hpctop("report", "--all", "job2").code == 0, 40)  # a file is there before its head is
rep = json.loads(hpctop("report", "--json", "job2", env=dict(os.environ, NCCL_RAS_ADDR=server.address, LD_LIBRARY_PATH=DOUBLE)).out)
check("an MPI job asks nobody", rep["node_gpus"] == [] and rep["nccl_ras"] is None and len(server.heard) == began, rep["node_gpus"])
kill_group(job)
end()
