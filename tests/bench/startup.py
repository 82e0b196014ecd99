#!/usr/bin/env python3
"""make bench, its last lines: what libtrace.so adds to the start of a program that uses no MPI, in time and in instructions.

  startup.py [PROGRAM [TIMES]]      default: true, 400 times with and without, in turn
"""
import os
import shutil
import statistics
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/e2e/lib"))
from start_cost import instructions

program = sys.argv[1] if len(sys.argv) > 1 else "true"
times = int(sys.argv[2]) if len(sys.argv) > 2 else 400
library = os.environ.get("LIBTRACE", os.path.join(TOP, "libtrace.so"))
path = shutil.which(program)
bare = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
seen = {None: [], library: []}
for _ in range(times):
    for preload, list_ in seen.items():
        env = dict(bare, LD_PRELOAD=preload) if preload else bare
        begin = time.perf_counter()
        os.waitpid(os.posix_spawn(path, [program], env), 0)
        list_.append(time.perf_counter() - begin)
without, more = seen[None], seen[library]
print("start of %s: median %.3f ms, %.3f ms more with libtrace.so (least: %.3f ms, %.3f ms more)" %
      (program, statistics.median(without) * 1e3, (statistics.median(more) - statistics.median(without)) * 1e3,
       min(without) * 1e3, (min(more) - min(without)) * 1e3))
counts = [instructions(program, p) for p in seen]
if all(counts):
    print("instructions: %d, %d more" % (counts[0], counts[1] - counts[0]))
