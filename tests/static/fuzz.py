"""The table of fuzz targets: each target has a row, a corpus and a limit of memory; each source of trace/ and tui/ that reads
bytes which somebody else may have written is in a row, or named there with the reason why nobody fuzzes it."""
import glob
import os
import re
import sys

TOP = os.environ["TOP"]
sys.path.insert(0, os.path.join(TOP, "tests/fuzz"))
from run import rows  # pylint: disable=wrong-import-position

READS = re.compile(r"(?<!\")\b(?:pread|read|fread|recv|elf_begin|dwfl_begin)\(|\bmmap\((?!.*MAP_ANONYMOUS)")
failed = False


def check(name, bad):
    global failed
    print("%s %s%s" % ("not ok" if bad else "ok", name, ": " + " ".join(sorted(bad)) if bad else ""))
    failed |= bool(bad)


def reads(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return any(READS.search(line) for line in f)


targets, others = rows()
sources = {os.path.relpath(path, TOP) for folder in ("trace", "tui") for path in glob.glob(os.path.join(TOP, folder, "**/*.c"), recursive=True)}
readers = {path for path in sources if not path.startswith("trace/writer/") and reads(path)}
fuzzed = {path for target in targets.values() for path in target.sources}
there = {os.path.basename(path)[len("fuzz_"):-len(".c")] for path in glob.glob(os.path.join(TOP, "tests/fuzz/fuzz_*.c"))}
check("each target has a row", there ^ set(targets))
check("each target has a corpus", {name for name, target in targets.items() if not all(map(os.listdir, filter(os.path.isdir, target.corpus()))) or
                                   not os.path.isdir(target.corpus()[0])})
check("what reads bytes has a target or a reason", readers - fuzzed - set(others))
check("each row is of a source that reads bytes", (fuzzed | set(others)) - readers | fuzzed & set(others))
check("each reason is one", {path for path, why in others.items() if not why})
sys.exit(failed)
