"""What libtrace.so adds to the start of a program that uses no MPI."""
import os
import re
import subprocess

LIMIT = 250000  # instructions: a tenth of a millisecond at one a cycle and 2.5 GHz; the promise is one millisecond


def instructions(program, preload):
    """From the loader's first to the last, as valgrind counts them; None where it cannot."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    if preload:
        env["LD_PRELOAD"] = preload
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", program],
                          env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    found = re.search(r"I +refs: +([\d,]+)", done.stderr.decode(errors="replace"))
    return int(found.group(1).replace(",", "")) if found else None
