#!/usr/bin/env python3
"""Every NCCL that PyPI has, one a minor release (200 to 300 MB each, removed again): its header, its library, and what a program
under libtrace.so sees of it (e2e/nccl_real).

  tests/nccl_versions.py [VERSION..]"""
import glob
import os
import re
import shutil
import subprocess
import sys
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = "nvidia-nccl-cu12"
AT = os.path.join(TOP, "build/nccl")


def newest_of_each():
    out = subprocess.run([sys.executable, "-m", "pip", "index", "versions", PACKAGE], capture_output=True, text=True).stdout
    found = re.search(r"Available versions: (.*)", out)
    newest = {}
    for version in found.group(1).split(", ") if found else []:
        newest.setdefault(version.split(".")[1], version)
    return list(newest.values())


def check(version):
    folder = os.path.join(AT, version)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    got = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "%s==%s" % (PACKAGE, version)],
                         capture_output=True, text=True)
    wheels = glob.glob(os.path.join(folder, "*.whl"))
    if not wheels:
        print("skip %s: %s" % (version, got.stderr.strip().split("\n")[-1]))
        return True
    with zipfile.ZipFile(wheels[0]) as wheel:
        for name in wheel.namelist():
            inside = re.search(r"(include/nccl\.h|lib/libnccl\.so\.2)$", name)
            if inside:
                path = os.path.join(folder, inside.group(1))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with wheel.open(name) as source, open(path, "wb") as to:
                    shutil.copyfileobj(source, to)
    done = subprocess.run([os.path.join(TOP, "tests/run.py"), "e2e/nccl_real"], env=dict(os.environ, NCCL_REAL=folder))
    shutil.rmtree(folder)
    print("%s %s" % ("ok" if done.returncode == 0 else "not ok", version), flush=True)
    return done.returncode == 0


versions = sys.argv[1:] or newest_of_each()
if not versions:
    print("PyPI is not reached")
    sys.exit(77)
bad = [version for version in versions if not check(version)]
print("%d versions, %d of them with mistakes" % (len(versions), len(bad)))
sys.exit(1 if bad else 0)
