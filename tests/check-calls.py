#!/usr/bin/env python3
"""Checks interpose/mpi/calls_*.def against every MPI installed here: its mpi.h (names, number, type and meaning of the
arguments) and its library (which functions there are).

  tests/check-calls.py [HEADER LIBRARY]..

With arguments: checks against these files (an MPI unpacked somewhere) instead of the installed ones."""
import fileinput
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.environ.get("TOP") or os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = sorted(glob.glob(os.path.join(TOP, "interpose/mpi/calls_*.def")))
CLASSES = os.path.join(TOP, "trace/format/opclass.def")
ROW = re.compile(r'^CALL\((\d+), (\w+), (CORE|OPT), (INT|DBL|AINT|HND), (\w+), "([^"]*)"\)$')

# What an argument with this letter may be: types, and names where the name says it (None: any name).
COUNT, INTS, ADDR = "int MPI_Count", "int* MPI_Count*", "int* MPI_Aint*"
LETTERS = {
    "b": ("void*", "sendbuf|buf|origin_addr"), "B": ("void*", "recvbuf|buf|buffer|origin_addr|result_addr"),
    "n": (COUNT, "count|sendcount|origin_count"), "N": (COUNT, "count|recvcount|origin_count|result_count"),
    "m": (INTS, "sendcounts"), "M": (INTS, "recvcounts"),
    "d": ("MPI_Datatype", "datatype|sendtype|origin_datatype"),
    "D": ("MPI_Datatype", "datatype|recvtype|origin_datatype|result_datatype"),
    "e": ("MPI_Datatype*", "sendtypes"), "E": ("MPI_Datatype*", "recvtypes"),
    "x": (ADDR, "sdispls|displs"), "X": (ADDR, "rdispls|displs"),
    "z": (COUNT, "target_count"), "Y": ("MPI_Datatype", "target_datatype"), "O": ("MPI_Op", "op"),
    "K": ("int", "partitions"), "f": ("int", "lock_type"),
    "p": ("int", "dest|remote_leader"), "s": ("int", "source"), "t": ("int", "tag|sendtag"), "T": ("int", "tag|recvtag"),
    "r": ("int", "root|local_leader"), "R": ("int", "target_rank|rank"),
    "c": ("MPI_Comm", None), "C": ("MPI_Comm*", "(new|inter|comm_)\\w+|parent"), "k": ("MPI_Comm*", "comm"),
    "v": ("MPI_Win", None), "V": ("MPI_Win*", None), "W": ("MPI_Win*", None),
    "a": ("MPI_File", None), "A": ("MPI_File*", None), "j": ("MPI_File*", None),
    "h": ("MPI_Comm MPI_Group MPI_Errhandler MPI_Session MPI_Op MPI_Datatype", None),
    "H": ("MPI_Group* MPI_Errhandler* MPI_Session* MPI_Op* MPI_Datatype*", None), "P": ("MPI_Datatype*", None),
    "^": ("MPI_Group* MPI_Op*", None), "_": ("MPI_Group", "group"),
    "u": ("MPI_Message*", None), "U": ("MPI_Message*", None),
    "q": ("MPI_Request*", "request"), "Q": ("MPI_Request*", "request"), "w": ("MPI_Request", None),
    "y": ("MPI_Request*", "array_of_requests"), "J": ("MPI_Request*", "array_of_requests"),
    "l": ("int", "count|incount"), "S": ("MPI_Status*", "status"), "Z": ("MPI_Status*", "array_of_statuses"),
    "g": ("int*", "flag"), "i": ("int*", "indx|index"), "o": ("int*", "outcount"), "I": ("int*", "array_of_indices"),
    "F": ("char*", "filename"), "G": ("char*", "\\w+_name"), "L": ("int", "level|errorcode"),
}
# And the other way round: an argument of this type, or with this name, must have one of these letters.
BY_TYPE = {"MPI_Comm": "ch", "MPI_Comm*": "Ck", "MPI_Win": "v", "MPI_Win*": "VW", "MPI_File": "a", "MPI_File*": "Aj",
           "MPI_Request": "w", "MPI_Request*": "qQyJ", "MPI_Message*": "uU", "MPI_Datatype": "dDYh", "MPI_Op": "Oh",
           "MPI_Group": "h_", "MPI_Errhandler": "h", "MPI_Session": "h"}
BY_NAME = {"sendbuf": "b", "recvbuf": "B", "origin_addr": "bB", "result_addr": "B", "sendcount": "n", "recvcount": "N",
           "origin_count": "nN", "target_count": "z", "result_count": "N", "sendcounts": "m", "recvcounts": "M",
           "sendtype": "d", "recvtype": "D", "sendtypes": "e", "recvtypes": "E", "sdispls": "x", "rdispls": "X",
           "origin_datatype": "dD", "result_datatype": "D", "target_datatype": "Y", "dest": "p", "root": "r",
           "target_rank": "R", "sendtag": "t", "recvtag": "T", "array_of_statuses": "Z"}
# Letters for which the list of functions is short: these have it, no others.
ONLY = {"k": "Comm_free Comm_disconnect", "W": "Win_free", "j": "File_close", "A": "File_open", "P": "Type_free", "^": "Group_free Op_free", "_": "Win_post Win_start",
        "u": "Mprobe Improbe", "U": "Mrecv Imrecv", "K": "Psend_init Precv_init", "L": "Abort Pcontrol",
        "V": "Win_create Win_create_dynamic Win_allocate Win_allocate_shared",
        "G": "Comm_set_name Win_set_name", "F": "File_open File_delete", "Q": "Wait Test Start Cancel Request_free",
        "y": "Waitall Waitany Waitsome Testall Testany Testsome Startall",
        "J": "Request_get_status_all Request_get_status_any Request_get_status_some",
        "l": "Waitall Waitany Waitsome Testall Testany Testsome Startall "
             "Request_get_status_all Request_get_status_any Request_get_status_some",
        "o": "Waitsome Testsome Request_get_status_some", "I": "Waitsome Testsome Request_get_status_some",
        "i": "Waitany Testany Request_get_status_any",
        "g": "Test Testall Testany Request_get_status Request_get_status_all Request_get_status_any "
             "Iprobe Improbe Parrived Win_test"}
# The classes that move data, and the letters that only they have.
MOVES = ("SEND SSEND RECV SENDRECV ISEND ISSEND IRECV ISENDRECV SEND_INIT SSEND_INIT RECV_INIT MRECV IMRECV "
         "BCAST SCATTER GATHER REDUCE ALLGATHER ALLREDUCE ALLTOALL REDUCE_SCATTER SCAN EXSCAN NEIGHBOR "
         "RMA IO IO_COLL").split()
PAYLOAD = "bBnNmMdDeExXzYOKpr"
# Misspelt in some headers.
MEANT = {"ibuf": "buf", "target_cout": "target_count", "type": "datatype"}


class Row:
    def __init__(self, match):
        self.arity, self.name, self.core = int(match.group(1)), match.group(2), match.group(3) == "CORE"
        self.result, self.cls, self.roles = match.group(4), match.group(5), match.group(6)
        self.plain = self.name[:-2] if self.name.endswith("_c") else self.name
        # Of these the roles say nothing.
        self.silent = self.cls == "PASS" or self.name.startswith("T_")
        self.payload = self.cls in MOVES


def read_table(wrong):
    classes = set(re.findall(r"^OPCLASS\((\w+),", open(CLASSES).read(), re.M)) | {"PASS"}
    rows = {}
    for line in fileinput.input(TABLES):
        if "CALL(" not in line or line.startswith(" *"):
            continue
        match = ROW.match(line.rstrip("\n"))
        if not match:
            wrong("%s, line %d is not a row: %s" % (os.path.basename(fileinput.filename()), fileinput.filelineno(), line.strip()))
            continue
        row = Row(match)
        if row.name in rows:
            wrong("%s: two rows" % row.name)
        if len(row.roles) != row.arity:
            wrong("%s: %d roles for %d arguments" % (row.name, len(row.roles), row.arity))
        if row.cls not in classes:
            wrong("%s: no class %s" % (row.name, row.cls))
        for letter in set(row.roles) - set(LETTERS) - {"."}:
            wrong("%s: unknown role %s" % (row.name, letter))
        for letter in {c for c in row.roles if row.roles.count(c) > 1} - set(".hH"):
            wrong("%s: role %s twice" % (row.name, letter))
        if row.silent and row.roles.strip("."):
            wrong("%s: has roles" % row.name)
        if not row.payload and row.cls not in ("SPAWN", "COMM_CREATE") and set(row.roles) & set(PAYLOAD):
            wrong("%s: %s moves no data" % (row.name, row.cls))
        rows[row.name] = row
    for letter, names in ONLY.items():
        for name in sorted({r.plain for r in rows.values() if letter in r.roles} ^ set(names.split())):
            wrong("%s: role %s is %s" % (name, letter, "its own" if name in names.split() else "not for it"))
    return rows


def check_families(rows, wrong):
    """A call, its _c, its nonblocking and its persistent form are the same but for the request."""
    for row in rows.values():
        if row.name.endswith("_c") and row.plain in rows:
            base = rows[row.plain]
            if base.cls != row.cls or (base.arity == row.arity and base.roles != row.roles):
                wrong("%s: differs from %s" % (row.name, base.name))
        done = row.roles.rstrip("S")
        name = row.plain
        init = name[:-5] if name.endswith("_init") else None
        if init in rows and rows[init].payload and row.roles not in (
                rows[init].roles.rstrip("S") + "q", rows[init].roles.rstrip("S") + ".q"):
            wrong("%s: roles are not those of %s with a request" % (row.name, init))
        now = name.replace("File_i", "File_") if name[0] != "I" else name[1:].capitalize()
        if done.endswith("q") and now != name and now in rows and done[:-1] != rows[now].roles.rstrip("S"):
            wrong("%s: roles are not those of %s with a request" % (row.name, now))


def drop_attributes(text):
    """Removes __attribute__((..)) with whatever brackets are inside."""
    out, at = [], 0
    for match in re.finditer(r"__attribute__\s*\(", text):
        if match.start() < at:
            continue
        out.append(text[at:match.start()])
        at, depth = match.end(), 1
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
    return "".join(out) + text[at:]


def prototypes(text):
    """{name without MPI_: (result type, [(type, name, const)])} of a preprocessed mpi.h."""
    text = drop_attributes(re.sub(r"^#.*$", "", text, flags=re.M))
    found = {}
    for statement in text.split(";"):
        match = re.search(r"\b([\w]+)\s+MPI_(\w+)\s*\((.*)\)\s*$", " ".join(statement.split()))
        if not match or "typedef" in statement or "{" in match.group(3):
            continue
        found[match.group(2)] = (match.group(1), [argument(a) for a in match.group(3).split(",")
                                                  if a.strip() not in ("", "void", "...")])
    return found


def argument(text):
    const = bool(re.search(r"\bconst\b", text))
    text = re.sub(r"\b(const|restrict|__restrict|__restrict__|struct)\b", " ", text)
    match = re.match(r"\s*(\w+(?:\s+\w+)*?)\s*(\**)\s*(\w*)\s*((?:\[\w*\])*)\s*$", text)
    if not match:
        return ("?", "", const)
    stars = len(match.group(2)) + match.group(4).count("[")
    return (match.group(1) + "*" * stars, MEANT.get(match.group(3), match.group(3)), const)


def check_header(rows, found, wrong):
    for name, (result, arguments) in sorted(found.items()):
        row = rows.get(name)
        if not row:
            wrong("MPI_%s: no row" % name)
            continue
        if len(arguments) != row.arity and name != "Pcontrol":  # that one is variadic
            wrong("MPI_%s: %d arguments, the row has %d" % (name, len(arguments), row.arity))
            continue
        want = {"int": "INT", "MPI_Fint": "INT", "double": "DBL", "MPI_Aint": "AINT"}.get(result, "HND")
        if want != row.result:
            wrong("MPI_%s: returns %s, the row says %s" % (name, result, row.result))
        if not row.silent:
            for i, (kind, arg, const) in enumerate(arguments):
                why = disagrees(row, i, kind, arg, const, arguments)
                if why:
                    wrong("MPI_%s: argument %d, %s %s, has role %s: %s" % (name, i + 1, kind, arg, row.roles[i], why))


def disagrees(row, i, kind, arg, const, arguments):
    """Why the role of an argument does not fit its type or name; None if it does."""
    role = row.roles[i]
    if row.plain == "Precv_init" and arg == "dest":  # as some headers call it
        arg = "source"
    if role != ".":
        types, names = LETTERS[role]
        if kind not in types.split():
            return "must be a %s" % types.replace(" ", " or ")
        if names and arg and not re.fullmatch(names, arg):
            return "not one by its name"
        if const and role in "CkVWAjHPuUqQySZgioIB":
            return "it is const"
    must = BY_NAME.get(arg, BY_TYPE.get(kind, ""))
    if kind == "int" and arg == "rank" and row.cls == "RMA_SYNC":
        must = "R"
    if kind == "int" and arg == "source" and not row.plain.startswith("Status_"):
        must = "s"
    if arg == "tag" and any(a[1] in ("dest", "source") for a in arguments):
        must = "t" if "p" in row.roles else "T"
    if kind == "MPI_Status*" and not const and not row.plain.startswith("Status_"):
        must = "SZ"
    if arg in ("count", "datatype") and row.payload and kind in ("int", "MPI_Count", "MPI_Datatype"):
        receive = row.cls == "REDUCE_SCATTER" or ("b" not in row.roles and row.cls != "BCAST")
        must = {True: "ND", False: "nd"}[receive][arg == "datatype"]
    if arg in ("buf", "buffer") and row.payload:
        must = "b" if const or row.plain.endswith("_replace") else "B"
    if must and role not in must:
        return "must be %s" % " or ".join(must)
    if kind == "MPI_Comm" and (role == "c") != (not any(a[0] == "MPI_Comm" for a in arguments[:i])):
        return "the first communicator is c, a second one h"
    return None


def exported(library):
    """Names of the MPI_ and PMPI_ functions a library defines (predefined callbacks have no small letters)."""
    text = subprocess.run(["nm", "-D", "--defined-only", library], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout
    names = re.findall(r"^\w+ [TWi] (P?MPI_\w*[a-z]\w*)", text, re.M)
    return ({n[4:] for n in names if n[0] == "M"}, {n[5:] for n in names if n[0] == "P"})


def check_library(rows, functions, profiling, wrong):
    for name in sorted((functions | profiling) - set(rows)):
        wrong("MPI_%s: exported, no row" % name)
    for name in sorted(n for n, row in rows.items() if row.core and n not in functions):
        wrong("MPI_%s: CORE, but not exported" % name)


def preprocess(command):
    run = subprocess.run(command + ["-E", "-x", "c", "-"], input="#include <mpi.h>\n", stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, universal_newlines=True)
    return run.stdout if run.returncode == 0 else None


def library_of(compiler):
    """The shared library that defines PMPI_Init in a program linked by this compiler; None if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "t.c"), os.path.join(folder, "t")
        with open(source, "w") as out:
            out.write("#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n")
        if subprocess.run([compiler, "-o", program, source], stderr=subprocess.DEVNULL).returncode:
            return None
        text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, universal_newlines=True).stdout
    for path in re.findall(r"=> (/\S+)", text):
        if "Init" in exported(path)[1]:
            return path
    return None


def main():
    failed = False

    def part(name, check):
        """Runs check(wrong) and prints one line for it, and above it all that is wrong."""
        nonlocal failed
        complaints = []
        check(complaints.append)
        for text in complaints:
            print("  " + text)
        print("ok %s" % name if not complaints else "not ok %s: %d wrong" % (name, len(complaints)))
        failed = failed or bool(complaints)

    rows = {}
    part("table", lambda wrong: (rows.update(read_table(wrong)), check_families(rows, wrong)))
    cases = []
    for header, library in zip(sys.argv[1::2], sys.argv[2::2]):
        cases.append((header, preprocess(["cc", "-I" + os.path.dirname(os.path.abspath(header))]), library))
    if not cases:
        named = [c for c in ("mpicc.openmpi", "mpicc.mpich") if shutil.which(c)]
        for compiler in named or [c for c in ("mpicc",) if shutil.which(c)]:
            cases.append((compiler, preprocess([compiler]), library_of(compiler)))
    if not cases and not failed:
        print("no MPI compiler here")
        return 77
    for name, text, library in cases:
        found = prototypes(text or "")
        if len(found) < 300:
            part(name + " header", lambda wrong: wrong("only %d functions found in mpi.h" % len(found)))
        else:
            part(name + " header", lambda wrong: check_header(rows, found, wrong))
        if library:
            part(name + " library", lambda wrong: check_library(rows, *exported(library), wrong))
        else:
            print("skip %s library: links no shared MPI library" % name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
