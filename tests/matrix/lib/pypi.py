"""MPI libraries that come as PyPI packages: unpacked into a folder, not installed."""
import glob
import os
import shutil
import stat
import subprocess
import sys
import zipfile

from common import TOP, skip_all


def place(name):
    return os.path.join(os.environ.get("HPCTOP_TEST_ROOTS") or os.path.join(TOP, "build/roots"), "pypi-" + name)


def unpack(name, packages, python=None):
    """The folder with bin/, lib/ and include/ of these packages and what they depend on; made on first use, beside the
    roots of other releases.  With `python`, a version, their modules for that.  Ends the test as skipped where they cannot
    be had."""
    folder = place(name)
    if os.path.exists(folder + ".done"):
        return folder
    wheels = folder + ".wheels"
    got = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "-d", wheels] +
                         (["--python-version", python] if python else []) + packages,
                         stderr=subprocess.PIPE, universal_newlines=True)
    if got.returncode:
        skip_all("pip cannot get %s: %s" % (" ".join(packages), got.stderr.strip()[-150:]))
    for wheel in glob.glob(os.path.join(wheels, "*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.namelist():
                inside = member if python else member.partition(".data/data/")[2]
                if inside and not member.endswith("/"):
                    target = os.path.join(folder, inside)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    with open(target, "wb") as f:
                        f.write(archive.read(member))
                    if "/bin/" in "/" + inside:
                        os.chmod(target, os.stat(target).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        os.remove(wheel)
    with open(folder + ".done", "w") as f:
        f.write(" ".join(packages) + "\n")
    return folder


def mpi4py_of_standard_abi(python, include, library):
    """mpi4py's wheel with one module more beside those of Open MPI and MPICH: that of the standard ABI, which PyPI does not
    have, made from the sources of the same release with the header in `include` and linked with `library`.  Its loader chooses
    among the three.  The module keeps to Python's stable ABI: the Python of this machine makes it, that of the root loads it."""
    folder = place("mpi4py-abi-" + python)
    if os.path.exists(folder + ".done"):
        return folder
    plain = unpack("mpi4py-" + python, ["mpi4py>=4.1"], python)
    release = glob.glob(plain + "/mpi4py-*.dist-info")[0].rpartition("mpi4py-")[2][:-len(".dist-info")]
    compiler = os.path.abspath("mpicc-abi")
    with open(compiler, "w") as f:
        f.write('#!/bin/sh\nexec gcc "$@" -I%s %s -Wl,--allow-shlib-undefined\n' % (include, library))
    os.chmod(compiler, 0o755)
    made = subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-binary", "mpi4py", "-w", "wheels",
                           "mpi4py==" + release], stderr=subprocess.PIPE, universal_newlines=True,
                          env=dict(os.environ, MPI4PY_BUILD_MPIABI="1", MPI4PY_BUILD_PYSABI="1", MPICC=compiler, CFLAGS="-O0 -g0 -w"))
    wheels = glob.glob("wheels/mpi4py-*abi3*.whl")
    if made.returncode or not wheels:
        skip_all("mpi4py cannot be built for the standard ABI (python3-dev?): " + made.stderr.strip()[-150:].replace("\n", " "))
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(plain, folder)
    with zipfile.ZipFile(wheels[0]) as archive, open(folder + "/mpi4py/MPI.mpiabi.abi3.so", "wb") as f:
        f.write(archive.read("mpi4py/MPI.abi3.so"))
    with open(folder + "/mpi4py/__init__.py", "a") as f:  # as the wheel says it of its own two
        f.write("_mpiabi._register('mpi4py.MPI', 'mpiabi')\n")
    with open(folder + ".done", "w") as f:
        f.write(release + "\n")
    return folder
