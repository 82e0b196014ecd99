"""The budget of a file: what reads bytes that somebody else wrote allocates memory through it (trace/util/budget.h), and
by itself only what has the size of a struct or is listed here, with what bounds it."""
import os
import re
import sys

TOP = os.environ["TOP"]
ALLOCATES = re.compile(r"\b(?:malloc|calloc|realloc|reallocarray|strdup|strndup|ana_grow\w*)\(")
STRUCT = re.compile(r"\b(?:calloc\(1, |malloc\()sizeof \*\w+\)")
BOUNDED = {
    "trace/reader/chunks.c": ("TRC_HOLES_MAX *",),
    "trace/reader/cursor.c": ("realloc(cursor->buffer, wanted)",),  # TRC_CURSOR_BUFFER
    "trace/reader/digest.c": ("malloc(TRC_DIGEST_MOST)",),
    "trace/reader/gpu.c": ("calloc(2, bytes)",),  # TRC_GPU_OPS
    "trace/reader/io.c": ("ana_grow_alone(&file->damage, ", "strdup(line)"),  # TRC_DAMAGE_MAX lines
    "trace/reader/reader.c": ("malloc((size_t)size + 1)", "malloc(bytes)", "strdup(path)"),  # TRC_SCHEMA_MAX
}
failed = False
for name in sorted(os.listdir(os.path.join(TOP, "trace/reader"))):
    path = "trace/reader/" + name
    if not name.endswith((".c", ".h")):
        continue
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        lines = f.read().splitlines()
    bad = ["%s:%d" % (path, i + 1) for i, line in enumerate(lines)
           if ALLOCATES.search(line) and not STRUCT.search(line) and not any(known in line for known in BOUNDED.get(path, ()))]
    print("%s %s charges what it allocates%s" % ("not ok" if bad else "ok", path, ": " + " ".join(bad) if bad else ""))
    failed |= bool(bad)
sys.exit(failed)
