# timeout: 560
"""What libtrace.so relies on and only a GPU can show: twelve checks, each with what was measured.  The table that it prints
(and leaves in build/gpu-checks.md) is what docs/gpu.md has of the last machine.  Nothing passes or fails by how fast
something was."""
import ctypes
import json
import os
import re
import shutil
import statistics
import time

import common
import gpu
import verdicts
from common import BUILD, TOP, check, end, hpctop, report, run, skip, traces
from gpu import IS_DOUBLE, hold, launch, machine, need_gpu, program

need_gpu()
rows = []
REPEAT = 1 if IS_DOUBLE else 3


def row(number, what, result, measured):
    """One line of the table.  `result`: True, False, or why there is none."""
    word = result if isinstance(result, str) else "yes" if result else "NO"
    rows.append("| %d | %s | %s | %s |" % (number, what, word, measured))
    name = "%d %s" % (number, what)
    if isinstance(result, str):
        skip(name, result)
    else:
        check(name, result, measured)
        print("measured %s: %s" % (name, measured))


def numbers(text):
    return {k: float(v) if re.fullmatch(r"-?[\d.]+", v) else v for k, v in re.findall(r"^(\w+) (.*)$", text, re.M)}


def probe(what, *more):
    """What tests/gpu/programs/probe.c says, or why it says nothing."""
    path = program("probe", ("cudart",))
    if not path:
        return "it cannot be compiled here"
    if not machine.cupti:
        return "no libcupti was found"
    r = run([path, what, machine.cupti] + list(more), common.environment(None, False, **machine.environment()), 240)
    said = numbers(r.out)
    return said if r.code == 0 else str(said.get("error", "exit %s: %s" % (r.code, r.err[-200:])))


def calls(ranks, times, bytes_, folder=None, preload=True, early="0", **env):
    """Median of several runs of calls.c: nanoseconds a call, a whole operation."""
    path, found = program("calls"), []
    for i in range(REPEAT):
        folder and shutil.rmtree(folder, ignore_errors=True)
        r = launch(ranks, [path, str(times), str(bytes_), early], folder, preload, **env)
        said = numbers(r.out)
        if r.code or "call_ns" not in said:
            return None, None
        found.append((said["call_ns"], said["operation_ns"]))
    return tuple(statistics.median(f[i] for f in found) for i in range(2))


def us(ns):
    return "-" if ns is None else "%.2f us" % (ns / 1e3)


def guarded(number, what, function):
    try:
        row(number, what, *function())
    except Exception as error:  # the other checks still count
        row(number, what, False, "%s: %s" % (type(error).__name__, error))


# ---- the twelve

def two_ranks():
    r = launch(2, [program("allreduce_sweep"), "4194304"], "one")
    if r.code:
        return False, str(r)
    sizes = [(n["bytes"] // n["calls"], n["transfer_s"], n["busbw"]) for n in report("one")["nccl"] if n["name"] == "ncclAllReduce"]
    said = ["%d B %s, %s" % (b, us(t and t * 1e9), "%.2f GB/s" % (bw / 1e9) if bw else "no bandwidth") for b, t, bw in sizes]
    return len(sizes) == 10, "; ".join(said[::3])


def injection():
    with_it, without = [], []
    for found, env in ((with_it, {"CUDA_INJECTION64_PATH": common.LIBTRACE}), (without, {})):
        shutil.rmtree("two", ignore_errors=True)
        r = launch(2, [program("calls"), "10", "4096", "50"], "two", **env)
        found += [r.code] + [k["calls"] for k in report("two")["kernels"] if k["name"] == "busy_kernel"]
    if not machine.cupti:
        return "no libcupti was found", ""
    text = "of 100 kernels before the first call of NCCL %s are seen when told at cuInit, %s without" % (
        (with_it[1:] or [0])[0], (without[1:] or [0])[0])
    # Without MPI recording begins with the first communicator.
    return with_it[0] == 0 and without[0] == 0 and (not machine.mpi or with_it[1:] == [100]), text


def plugin():
    r = launch(2, [program("calls"), "10", "4096"], "three", HPCTOP_NCCL="symbols,plugin,channels", NCCL_DEBUG="INFO")
    text = hpctop("dump", "three").out
    hooks = re.findall(r"^fact nccl.hooks: (.*)$", text, re.M)
    said = re.findall(r"rofiler.*", r.out)
    p = gpu.start(3, [program("hang"), "missing"], "three-hang", HPCTOP_NCCL="symbols,plugin,channels")
    common.wait_for(lambda: len(traces("three-hang")) == 3, 30)
    time.sleep(4)
    verdicts.kill_group(p)
    states = re.findall(r"^op \d+: (\w+) ncclAllReduce .* sequence=5 .*flags=(\S+)", hpctop("dump", "three-hang").out, re.M)
    started = [s for s in states if s[0] == "started" and "by_plugin" in s[1]]
    plain = calls(2, 100, 4096, preload=False)[1]
    costs = [(w, calls(2, 100, 4096, "three-cost", HPCTOP_NCCL=w)[1]) for w in ("symbols", "symbols,plugin", "symbols,plugin,channels")]
    text = "hooks %s%s; of a hung all-reduce %d of 2 ranks' kernels are seen to have started; 4 KiB on 2 ranks: %s without, %s" % (
        hooks[:1], "; NCCL: " + said[0].strip() if said else "", len(started), us(plain), ", ".join("%s with %s" % (us(t), w) for w, t in costs))
    return r.code == 0 and len(hooks) == 2 and all("plugin" in w.split(";")[0] for w in hooks) and bool(started), text


def kernels():
    said = probe("records")
    if isinstance(said, str):
        return said, ""
    rep = report("one")
    names = sorted({k["name"] for k in rep["kernels"] if k["nccl"]})
    timed = sum(n["timed"] for n in rep["nccl"])
    ok = said["kernels"] == 20 and said["stream_of_record"] == said["stream_of_call"] and timed == 50 and rep["kernels_unmatched"] == 0
    return ok, "records of %d bytes; stream %d as cuptiGetStreamIdEx says %d; %d of 50 all-reduces met the kernels of both ranks, %d kernels met none; %s" % (
        said["record_bytes"], said["stream_of_record"], said["stream_of_call"], timed, rep["kernels_unmatched"], ", ".join(names)[:200])


def unfinished():
    said = probe("unfinished")
    if isinstance(said, str):
        return said, ""
    ok = said["start_event"] == 0 and said["stop_event"] == 600 and said["flush_unended"] == 0 and said["stop_event_afterwards"] == 0
    return ok, ("while it runs: event before it ready, event behind it %d; flush: %d ended kernels, forced: %d, %d of them with end 0, %d with a "
                "start; told again when it has ended: %d" % (said["stop_event"], said["flush_kernels"], said["forced_kernels"],
                                                             said["forced_unended"], said["forced_with_start"], said["told_again"]))


def external():
    said = probe("external")
    if isinstance(said, str):
        return said, ""
    return True, "kernels %d, external correlations %d, records of the driver's calls %d (enable: %d, %d)" % (
        said["kernels"], said["external_records"], said["driver_records"], said["enable_cuLaunchKernel"], said["enable_cuLaunchKernelEx"])


def costs():
    said = probe("cost", "2000" if IS_DOUBLE else "100000")
    text = said if isinstance(said, str) else (
        "cuEventRecord %d ns with timing, %d ns without; cuEventQuery %d ns; a tiny kernel %d ns, with CUPTI %d ns (%+.1f %%); flush %s ms" % (
            said["event_record_timed_ns"], said["event_record_plain_ns"], said["event_query_plain_ns"], said["kernel_ns"],
            said["kernel_with_cupti_ns"], (said["kernel_with_cupti_ns"] / said["kernel_ns"] - 1) * 100, said["flush_ms"]))
    times = 100 if IS_DOUBLE else 1000
    one = [calls(1, times, 4, *how[0], **how[1])[0] for how in ((("none", False), {}), (("seven",), {}), (("seven",), {"HPCTOP_CUPTI": "0"}))]
    two = [calls(2, times, 65536, *how)[1] for how in (("none", False), ("seven",))]
    text += "; ncclAllReduce on one rank: %s, recorded %s, without CUPTI %s; 64 KiB on two: %s, recorded %s" % tuple(map(us, one + two))
    return all(one + two), text


def other_profiler():
    """torch.profiler where PyTorch sees the GPU, else a program that uses CUPTI as it does."""
    code = ("import os, torch\nimport torch.distributed as dist\nfrom torch.profiler import profile, ProfilerActivity\n"
            "a = torch.ones(1 << 20, device='cuda')\nfor i in range(20): a = a * 1.0\n"
            "dist.init_process_group('nccl', init_method='env://')\ndist.all_reduce(a); torch.cuda.synchronize()\n"
            "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:\n"
            "    for i in range(5): dist.all_reduce(a)\n    torch.cuda.synchronize()\n"
            "print('nccl_kernels', sum(e.count for e in p.key_averages() if 'nccl' in e.key.lower() and 'kernel' in e.key.lower()))\n"
            "dist.destroy_process_group()\n")
    python = None if IS_DOUBLE else common.python_with_torch(cuda=True)
    if python:
        seen = {}
        for preload in (False, True):
            r = run(gpu.LAUNCH + ["2", python, "-c", code], common.environment("eight", preload, **dict(gpu.ONE_GPU)), 240)
            seen[preload] = (r.code, re.findall(r"nccl_kernels (\d+)", r.out))
        fact = re.findall(r"fact gpu.kernels: (.*)", hpctop("dump", "eight").out)
        return seen[True] == seen[False] and seen[True][0] == 0 and any("until" in f for f in fact), "torch.profiler: %s bare, %s recorded; %s" % (
            seen[False], seen[True], fact[:1])
    held = hold("profiler", [], 2) if machine.cupti else None
    if not held:
        return "no PyTorch with CUDA, and no libcupti or profiler.c for it", ""
    fact = re.findall(r"fact gpu.kernels: (.*)", hpctop("dump", "trace-profiler-x2").out)
    return len(fact) == 2 and all("until another profiler came" in f for f in fact), "no PyTorch with CUDA; a program with CUPTI of its own gets its records; the trace says: " + fact[0]


def graphs():
    r = launch(2, [program("hang_not"), "graph", "0"], "nine")
    ops = re.findall(r"^op \d+: (\w+) (\w+)", hpctop("dump", "nine").out, re.M)
    return r.code == 0 and [o[0] for o in ops].count("captured") == 2, "exit %s; states %s" % (r.code, sorted({o[0] for o in ops}))


def late_launches():
    """An operation on a communicator that does not block is complete no earlier than its kernel."""
    r = launch(2, [program("hang_not"), "unblock", "0"], "ten")
    early, marked, pairs = [], 0, 0
    for path in traces("ten"):
        text = hpctop("dump", path).out
        ends = sorted(float(b) + float(t) for b, t in re.findall(r"^\d+ +([\d.]+) ([\d.]+) kernel .*nccl", text, re.M))
        ops = re.findall(r"^op \d+: completed ncclAllReduce .*ended=([\d.]+) flags=(\S+)", text, re.M)
        marked += sum("approximate" in f for _, f in ops)
        for ended, kernel in zip(sorted(float(e) for e, _ in ops), ends):
            pairs += 1
            early.append(ended - kernel)
    if r.code or not marked:
        return False, "exit %s, %d launches after the call's return" % (r.code, marked)
    if not pairs:
        return "no times of kernels to compare with", ""
    return min(early) > -1e-3, "seen complete %.2f ms after the kernel's end at the least, %.2f at the most, of %d" % (min(early) * 1e3, max(early) * 1e3, pairs)


class Field(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong), ("latency", ctypes.c_longlong),
                ("type", ctypes.c_uint), ("result", ctypes.c_int), ("value", ctypes.c_ulonglong)]


def nvml():
    library = ctypes.CDLL(machine.nvml)
    assert library.nvmlInit_v2() == 0
    device = ctypes.c_void_p()
    assert library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
    return library, device


def memory_used():
    library, device = nvml()
    info = (ctypes.c_ulonglong * 3)()
    assert library.nvmlDeviceGetMemoryInfo(device, info) == 0
    return info[2]


def counters():
    try:
        library, device = nvml()
    except OSError as error:
        return str(error), ""
    said = []
    for scope in (0, 0xffffffff):
        fields = (Field * 4)(*[Field(id=138 + i, scope=scope) for i in range(4)])
        error = library.nvmlDeviceGetFieldValues(device, 4, fields)
        said.append("scope %s: %s" % (scope if scope == 0 else "all", ", ".join(
            "%d = %d KiB (type %d)" % (f.id, f.value, f.type) if f.result == 0 else "%d: error %d" % (f.id, f.result) for f in fields) if error == 0 else "error %d" % error))
    kb = ctypes.c_uint()
    errors = [library.nvmlDeviceGetPcieThroughput(device, i, ctypes.byref(kb)) for i in range(2)]
    return True, "%s; PCIe: errors %s, %d KB/s" % ("; ".join(said), errors, kb.value)


def killed():
    try:
        before = memory_used()
    except OSError as error:
        before = None
    p = gpu.start(3, [program("hang"), "missing"], "twelve")
    common.wait_for(lambda: len(traces("twelve")) == 3 and verdicts.verdict("twelve")[1]["class"] == "missing-in-collective", 30)
    during = memory_used() if before is not None else None
    env = dict(os.environ, LD_LIBRARY_PATH=machine.path) if IS_DOUBLE else None
    shown = json.loads(hpctop("report", "--json", "twelve", env=env).out)
    verdicts.kill_group(p)
    ops = re.findall(r"^op \d+: (\w+) ncclAllReduce .* sequence=5 ", hpctop("dump", "twelve").out, re.M)
    freed = common.wait_for(lambda: memory_used() <= before + (64 << 20), 30) if before is not None else None
    again = launch(2, [program("calls"), "10", "4096"], None, False)
    memory = "" if before is None else "; memory used %.0f MiB before, %.0f hung, %.0f afterwards" % (before / 2**20, during / 2**20, memory_used() / 2**20)
    return bool(ops) and set(ops) <= {"enqueued", "started"} and freed is not False and again.code == 0, (
        "while it hangs NCCL's RAS says: %s; NVML: %s; after kill -9 the table has %s%s; the next job runs: %s" % (
            shown["nccl_ras"], "; ".join("%s busy %s" % (g["name"], g["busy"]) for g in shown["node_gpus"]) or "nothing",
            " and ".join(ops), memory, again.code == 0))


# What the checks that are told of by other programs' means say on the double is no finding; that they say it is.
print("on " + machine.name)
started = time.monotonic()
guarded(1, "two ranks on one GPU, by NCCL_HOSTID", two_ranks)
guarded(2, "told at cuInit (CUDA_INJECTION64_PATH)", injection)
guarded(3, "libtrace.so as NCCL's profiler plugin", plugin)
guarded(4, "CUPTI's records of kernels, and whose they are", kernels)
guarded(5, "a kernel that does not end", unfinished)
guarded(6, "correlation ids without records of all driver calls", external)
guarded(7, "what it costs", costs)
guarded(8, "another profiler comes", other_profiler)
guarded(9, "NCCL in a captured graph", graphs)
guarded(10, "communicators that do not block", late_launches)
guarded(11, "NVML's counters of links", counters)
guarded(12, "kill -9 of ranks that hang", killed)
table = ["On %s, NCCL %s, %s; %s MPI; %.0f s." % (machine.name, (re.findall(r"^fact nccl: (.*)$", hpctop("dump", "one").out, re.M) or ["?"])[0],
                                               os.path.basename(os.path.realpath(machine.cupti)) if machine.cupti else "no CUPTI",
                                               "with" if machine.mpi else "without", time.monotonic() - started),
         "", "| | check | holds | measured |", "|---|---|---|---|"] + rows
print("\n".join(table))
with open(os.path.join(TOP, "build", "gpu-checks%s.md" % ("-double" if IS_DOUBLE else "")), "w") as f:
    f.write("\n".join(table) + "\n")
end()
