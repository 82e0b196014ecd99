#!/usr/bin/env python3
"""Checks interpose/nccl/nccl_calls.def against an NCCL: its nccl.h (functions, number and type of arguments, datatypes) and its
library (which functions there are).

  tests/nccl_table.py HEADER [LIBRARY]

Functions that a release later than the table's has, and the table has not, are named and are no mistake."""
import os
import re
import subprocess
import sys

TOP = os.environ.get("TOP") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(TOP, "interpose/nccl/nccl_calls.def")
ROW = re.compile(r'^NCCL\w*\((\d+), (\w+), (?:EXPORT|PATCH), (\w+), (\w+), "([^"]*)"\)$')
LATEST = (2, 32)  # that the table was made for

# An argument with this letter: its type, and its name where the name says it.
LETTERS = {
    "c": ("ncclComm_t", None), "C": ("ncclComm_t*", None), "A": ("ncclComm_t*", "comms?"),
    "i": ("ncclUniqueId ncclUniqueId*", None), "N": ("int", "n[rR]anks|ndev"), "R": ("int", "(my)?rank"),
    "k": ("int", "color"), "y": ("int", "key"), "f": ("ncclConfig_t* ncclCollConfig_t*", "config"),
    "b": ("void*", "sendbuff|localbuff"), "B": ("void*", "recvbuff|buff"), "n": ("size_t", "count|sendcount|recvcount"),
    "d": ("ncclDataType_t", None), "o": ("ncclRedOp_t", "op"), "r": ("int", "root"), "p": ("int", "peer"), "s": ("int", "peer"),
    "t": ("cudaStream_t", "stream"),
}
NEEDS = {"ncclComm_t": "c", "cudaStream_t": "t", "ncclUniqueId": "i."}  # such an argument has one of these letters
# Neither recorded nor asked for: text, the device's side, and what only says how things are laid out.
LEFT_ALONE = re.compile(r"GetErrorString|GetLastError|ResetDebugInit\w*|Team\w*|\w*BarrierCreateRequirement|LLA2A\w*|Param\w*|"
                        r"SetEncryption|Get\w*Device(Le|Pointer|LeInfo|Info)\w*|Get\w*LeInfo|Win\w*|Dev\w*|Gin\w*|Lsa\w*|Rma\w*")
SIZES = {"Int8": 1, "Uint8": 1, "Int32": 4, "Uint32": 4, "Int64": 8, "Uint64": 8, "Float16": 2, "Float32": 4, "Float64": 8,
         "Bfloat16": 2, "Float8e4m3": 1, "Float8e5m2": 1}
bad = []


def wrong(*what):
    bad.append(" ".join(str(w) for w in what))


def rows():
    found = {}
    with open(TABLE) as f:
        for line in f:
            m = ROW.match(line.strip())
            if m:
                found[m.group(2)] = (int(m.group(1)), m.group(3), m.group(5))
    return found


def prototypes(text):
    """Name -> [(type, name)..]; comments and attributes are gone."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|^\s*#.*?(?<!\\)$", " ", text, flags=re.S | re.M)
    found = {}
    for name, arguments in re.findall(r"ncclResult_t\s+nccl(\w+)\s*\(([^()]*)\)\s*;", text):
        parsed = []
        for argument in arguments.split(","):
            argument = re.sub(r"\b(const|struct|__restrict__)\b", " ", argument).strip()
            m = re.match(r"^(.*?)(\w+)\s*(\[\])?$", argument)
            if not argument or argument == "void" or not m:
                continue
            parsed.append((re.sub(r"\s+", "", m.group(1)) + ("*" if m.group(3) else ""), m.group(2)))
        found[name] = parsed
    return found


def check_header(text, table, version):
    for name, arguments in sorted(prototypes(text).items()):
        if name not in table:
            if not LEFT_ALONE.fullmatch(name):
                (wrong if version <= LATEST else lambda *w: print("new:", *w))("nccl" + name, "has no row")
            continue
        arity, _, roles = table[name]
        if len(arguments) != arity:
            wrong("nccl" + name, "has", len(arguments), "arguments, the row says", arity)
            continue
        for role, (kind, named) in zip(roles, arguments):
            if role in LETTERS:
                types, names = LETTERS[role]
                if kind not in types.split() or (names and not re.fullmatch(names, named)):
                    wrong("nccl%s: %s is no %s %s" % (name, role, kind, named))
            if kind in NEEDS and role not in NEEDS[kind]:
                wrong("nccl%s: %s %s should be %s" % (name, kind, named, NEEDS[kind]))


def check_types(text):
    with open(os.path.join(TOP, "interpose/nccl/calls.c")) as f:
        ours = [int(n) for n in re.search(r"type_bytes\[\] = \{([\d, ]+)\}", f.read()).group(1).split(",")]
    for name, number in re.findall(r"\bnccl(\w+)\s*=\s*(\d+)", re.search(r"ncclInt8[^}]*", text).group(0)):
        if name in SIZES and (int(number) >= len(ours) or ours[int(number)] != SIZES[name]):
            wrong("nccl%s is number %s" % (name, number))


def check_library(path, table, version):
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    names = {m.group(1) for m in re.finditer(r" [TW] nccl([A-Z]\w*)$", out, re.M)}
    if len(names) < 15:
        wrong(path, "exports only", len(names), "functions")
    for name in sorted(names):
        if name not in table and not LEFT_ALONE.fullmatch(name):
            (wrong if version <= LATEST else lambda *w: print("new:", *w))("nccl" + name, "is exported and has no row")
    if not re.search(r" [TW] pncclAllReduce$", out, re.M):
        wrong(path, "has no pncclAllReduce")
    return len(names)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with open(sys.argv[1], errors="replace") as f:
        text = f.read()
    version = tuple(int(re.search(r"#define NCCL_%s\s+(\d+)" % part, text).group(1)) for part in ("MAJOR", "MINOR"))
    table = rows()
    if len(table) < 50:
        wrong("the table has only", len(table), "rows")
    check_header(text, table, version)
    check_types(text)
    exported = check_library(sys.argv[2], table, version) if len(sys.argv) > 2 else 0
    for line in bad:
        print("wrong:", line)
    print("NCCL %d.%d: %d prototypes, %d functions exported, %d wrong" %
          (version + (len(prototypes(text)), exported, len(bad))))
    sys.exit(1 if bad else 0)


main()
