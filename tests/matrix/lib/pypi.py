"""MPI libraries that come as PyPI packages: unpacked into a folder, not installed."""
import glob
import os
import stat
import subprocess
import sys
import zipfile

from common import TOP, skip_all


def unpack(name, packages, python=None):
    """The folder with bin/, lib/ and include/ of these packages and what they depend on; made on first use, beside the
    roots of other releases.  With `python`, a version, their modules for that.  Ends the test as skipped where they cannot
    be had."""
    folder = os.path.join(os.environ.get("HPCTOP_TEST_ROOTS") or os.path.join(TOP, "build/roots"), "pypi-" + name)
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
