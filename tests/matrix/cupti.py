# timeout: 600
"""CUPTI 11.8 and 12.4 of PyPI (13.0 is where a toolkit is: tests/static/cupti.sh): what is read of their records lies where libtrace.so expects it, and the real library,
which finds no GPU here, is left alone without a word."""
import glob
import os

from common import TOP, check, end, environment, hpctop, run
import pypi

WHEELS = {"11.8": ["nvidia-cuda-cupti-cu11==11.8.87", "nvidia-cuda-runtime-cu11==11.8.89"],
          "12.4": ["nvidia-cuda-cupti-cu12==12.4.127", "nvidia-cuda-runtime-cu12==12.4.127"]}

run(["mpicc", "-o", "cupti_real", os.path.join(TOP, "tests/e2e/lib/cupti_real.c"), "-ldl"])
for version, packages in sorted(WHEELS.items()):
    folder = pypi.unpack("cupti-" + version, packages, "3.11")
    headers = os.path.abspath("include-" + version)
    os.makedirs(headers, exist_ok=True)
    for path in glob.glob(folder + "/nvidia/*/include/**", recursive=True):
        name = os.path.join(headers, path.split("/include/", 1)[1])
        if os.path.isfile(path) and not os.path.exists(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
            os.symlink(path, name)
    r = run([os.path.join(TOP, "tests/static/cupti.sh")], dict(os.environ, TOP=TOP, CUPTI_INCLUDES=headers))
    check("CUPTI %s: offsets of its records" % version, r.code == 0 and headers + ": CUpti_ActivityKernel" in r.out, r)
    libraries = glob.glob(folder + "/nvidia/*/lib/libcupti.so*")
    check("CUPTI %s: its library is there" % version, libraries, folder)
    for library in libraries:
        trace = "trace-" + version
        r = run(["mpirun", "-n", "1", "./cupti_real", library], environment(trace, True))
        check("CUPTI %s: without a GPU nothing is timed, and the trace says so" % version,
              r.code == 0 and r.out == "fine\n" and "gpu.kernels: not timed: CUPTI refuses" in hpctop("dump", trace).out, r)
end()
