#!/usr/bin/env python3
"""Does the call table fit Fortran?  For each Fortran compiler of an MPI: every mpi_ symbol of its Fortran libraries
leads to a row or is one that is passed on purpose; and in the modules mpi and mpi_f08, as gfortran has compiled them,
each procedure has the arguments that interpose/fortran/fortran.c takes it to have, with types that fit their roles."""
import fileinput
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = sorted(glob.glob(os.path.join(TOP, "interpose/mpi/calls_*.def")))
ROW = re.compile(r'CALL\((\d+), (\w+), \w+, \w+, (\w+), "([^"]*)"\)')
# Arguments before ierror, where they are fewer than in C; MPI_PCONTROL has no ierror (interpose/fortran/fortran.c).
FEWER = {"init": 0, "init_thread": 2, "pcontrol": 1, "info_create_env": 1}
MOST_TEXTS = 2  # lengths that a wrapper hands on
# Not calls of MPI that anyone makes, or not worth a record: clocks and conversions are rows of the class PASS; these are
# procedures that only Fortran has: callbacks to be named, and what makes the compiler forget or measure a variable.
# MPICH 4.0's names for MPIX calls come last, and slips of Open MPI 6.0 and MPICH 3.4.
PASSED = re.compile(r"(\w+_)?(dup_fn|null_copy_fn|null_delete_fn|conversion_fn_null)(_c|_f)?|\w+_function(_c)?|"
                    r"f_sync_reg|sizeof\w*|(aint_add|aint_diff|wtick|wtime)_f90|status_(c_assign|f08_assign_c|c_assgn_f08|f08_assgn_c)|"
                    r"delete_error_(class|code|string)|request_status_get_any|type_get_(contents|envelope)_f08_c|(comm|session)_attach_buffer_fts")
# Slips of Open MPI 5.0: two interfaces without `info`, which crash, and one of a procedure that no library has.
SLIPS = ("precv_init_f08", "psend_init_f08", "session_get_nth_psetlen")
# What an argument with a role is, in mpi_f08: a derived type, or INTEGER of 4 bytes, or text, or whatever.
TYPE = {}
for letters, kind in (("cCk", "mpi_comm"), ("dDYeEP", "mpi_datatype"), ("qQwyJ", "mpi_request"), ("vVW", "mpi_win"),
                      ("aAj", "mpi_file"), ("uU", "mpi_message"), ("SZ", "mpi_status"), ("g", "LOGICAL"),
                      ("FG", "CHARACTER"), ("pstTrRlioIKL", "INTEGER 4"), ("nN", "COUNT"), ("mM", "COUNT")):
    TYPE.update({letter: kind for letter in letters})


def rows():
    found = {}
    for match in map(ROW.match, fileinput.input(TABLES)):
        if match:
            found[match.group(2).lower()] = (int(match.group(1)), match.group(3), match.group(4))
    return found


def row_name(symbol):
    """mpi_send_f08ts_large_ -> send_c; None if it is not spelt like a call of MPI."""
    match = re.fullmatch(r"(?i:mpi)_(\w+?)(_f08(?:ts)?)?(_large)?_{0,2}", symbol)
    if not match or (match.group(3) and not match.group(2)):
        return None
    name = match.group(1).lower()
    if name.endswith("_cptr"):  # the same with a C_PTR
        name = name[:-5]
    return name + ("_c" if match.group(3) else "")


# ---- compiled modules: gzipped lists in brackets

def read_module(path):
    """{number: (name, [attributes], [type], [numbers of arguments])} of the symbols of a .mod file."""
    text = gzip.open(path, "rt", errors="replace").read()
    stack, top = [[]], []
    for token in re.findall(r"\(|\)|'(?:[^']|'')*'|[^\s()]+", text[text.index("\n"):]):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    top = stack[0]
    symbols = {}
    for section in top:
        at = 0
        while isinstance(section, list) and at + 5 < len(section) and isinstance(section[at], str) \
                and section[at].isdigit() and isinstance(section[at + 5], list):
            info = section[at + 5]
            if info and isinstance(info[0], list):
                kind = next((i for i in info[1:4] if isinstance(i, list) and i and isinstance(i[0], str)
                             and i[0].isupper()), [])
                formals = next((i for i in info[3:] if isinstance(i, list)), [])
                symbols[int(section[at])] = (section[at + 1].strip("'").lower(), info[0], kind,
                                             [int(n) for n in formals if isinstance(n, str) and n.isdigit()])
            at += 6
    return symbols


def type_name(symbols, kind):
    if not kind:
        return "?"
    if kind[0] == "DERIVED":
        return symbols.get(int(kind[1]), ("?",))[0]
    return "INTEGER " + kind[1] if kind[0] == "INTEGER" else kind[0]


def check_module(path, table, wrong):
    """Returns how many procedures were compared."""
    symbols = read_module(path)
    compared = 0
    for name, attributes, _, formals in symbols.values():
        call = row_name(name) if "PROCEDURE" in attributes and "SUBROUTINE" in attributes else None
        if not call or not formals:
            continue
        if name.endswith(SLIPS) and len(formals) != table.get(call, (0,))[0] + 1:
            continue
        if call not in table:
            if not PASSED.fullmatch(call):
                wrong("%s: no row" % name)
            continue
        arity, cls, roles = table[call]
        if cls == "PASS":
            continue
        kinds = [type_name(symbols, symbols[n][2]) for n in formals if n in symbols]
        names = [symbols[n][0] for n in formals if n in symbols]
        want = FEWER.get(call, arity)
        have = len(kinds) - (1 if names and names[-1] in ("ierror", "ierr") else 0)
        if have != want or (have == len(kinds) and call != "pcontrol"):
            wrong("%s: %d arguments and %d ierror, the row has %d" % (name, have, len(kinds) - have, want))
            continue
        compared += 1
        texts = kinds.count("CHARACTER")
        if texts > MOST_TEXTS:
            wrong("%s: %d CHARACTER arguments" % (name, texts))
        f08 = "_f08" in name
        for at in range(have):
            role, kind = roles[at], kinds[at]
            expected = TYPE.get(role)
            if expected == "COUNT":
                wide = (call.endswith("_c") or "K" in roles)
                expected = "INTEGER 8" if wide else "INTEGER 4"
            if not f08 and expected and expected.startswith("mpi_"):
                expected = "INTEGER 4"
            if expected == "CHARACTER" and texts != 1:
                wrong("%s: %d CHARACTER arguments, one of them is recorded" % (name, texts))
            if role == "g" and not f08 and kind == "INTEGER 4":  # a slip of MPICH 4.0; zero is false all the same
                continue
            if expected and kind != expected:
                wrong("%s: argument %d, %s, is %s, for role %s it must be %s" %
                      (name, at + 1, names[at], kind, role, expected))
    return compared


# ---- libraries

def libraries(compiler):
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "t.f90"), os.path.join(folder, "t")
        with open(source, "w") as out:
            out.write("use mpi_f08\ncall MPI_Init()\nend\n")
        made = subprocess.run([compiler, "-Wl,--no-as-needed", "-o", program, source], stderr=subprocess.PIPE,
                              universal_newlines=True)
        if made.returncode:
            return None
        text = subprocess.run(["ldd", program], stdout=subprocess.PIPE, universal_newlines=True).stdout
    return re.findall(r"=> (/\S+mpi\S+)", text)


def check_libraries(paths, table, wrong):
    """Returns how many symbols lead to rows."""
    known = 0
    for path in paths:
        text = subprocess.run(["nm", "-D", "--defined-only", path], stdout=subprocess.PIPE,
                              universal_newlines=True).stdout
        for symbol in re.findall(r"^\w+ [TWi] ((?:mpi_[a-z0-9_]+|MPI_[A-Z0-9_]+))$", text, re.M):
            call = row_name(symbol)
            if call in table:
                known += 1
            elif not call or not PASSED.fullmatch(call):
                wrong("%s in %s: no row" % (symbol, os.path.basename(path)))
    return known


def module_folders(compiler):
    text = subprocess.run([compiler, "-show"], stdout=subprocess.PIPE, universal_newlines=True).stdout
    folders = re.findall(r"-[IJ](\S+)", text)
    return [f for f in dict.fromkeys(map(os.path.realpath, folders)) if glob.glob(os.path.join(f, "mpi*.mod"))]


def main():
    compilers = [c for c in ("mpifort.openmpi", "mpifort.mpich") if shutil.which(c)]
    if not compilers and shutil.which("mpifort"):
        compilers = ["mpifort"]
    if not compilers or not shutil.which("gfortran"):
        print("no Fortran compiler for MPI here")
        return 77
    table, failed = rows(), False
    for compiler in compilers:
        complaints = []
        found = libraries(compiler)
        if found is None:
            print("skip %s libraries: it does not compile a program" % compiler)
            continue
        known = check_libraries(found, table, complaints.append)
        if known < 1000:
            complaints.append("only %d symbols of Fortran calls found" % known)
        failed |= say("%s libraries" % compiler, complaints)
        complaints, compared, seen = [], {"mpi": 0, "mpi_f08": 0}, set()
        for folder in module_folders(compiler):
            for name in ("mpi", "mpi_base", "mpi_f08", "mpi_f08_interfaces"):
                path = os.path.join(folder, name + ".mod")
                if os.path.exists(path) and name not in seen:
                    seen.add(name)
                    compared["mpi_f08" if "f08" in name else "mpi"] += check_module(path, table, complaints.append)
        for module, least in (("mpi", 100), ("mpi_f08", 300)):
            if compared[module] < least:
                complaints.append("only %d procedures of the module %s compared" % (compared[module], module))
        failed |= say("%s modules (%d and %d procedures)" % (compiler, compared["mpi"], compared["mpi_f08"]), complaints)
    return 1 if failed else 0


def say(name, complaints):
    for text in complaints:
        print("  " + text)
    print("not ok %s: %d wrong" % (name, len(complaints)) if complaints else "ok %s" % name)
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
