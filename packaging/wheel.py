#!/usr/bin/env python3
"""make wheel: hpctop as a wheel for any Linux on x86-64 since glibc 2.17.

  wheel.py FOLDER VERSION INTO    FOLDER: as make tarball leaves it

`pip install` gives the command hpctop with its libtrace.so, `import hpctop` the regions of include/hpctop.py,
`%load_ext hpctop` the magics of include/hpctop_notebook.py."""
import base64
import hashlib
import os
import sys
import zipfile

TAG = "py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64"
RUN = '''"""The command hpctop: the program that lies in this package."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "hpctop")
    os.execv(program, ["hpctop"] + sys.argv[1:])
'''
METADATA = """Metadata-Version: 2.1
Name: hpctop
Version: %s
Summary: top for parallel jobs: records MPI and NCCL calls, shows them live, explains hangs
License: %s
Requires-Python: >=3.6
Classifier: Operating System :: POSIX :: Linux
Classifier: Topic :: System :: Monitoring
Description-Content-Type: text/markdown

%s"""


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def main():
    folder, version, into = sys.argv[1:]
    info = "hpctop-%s.dist-info/" % version
    license_name = read(folder, "LICENSE").decode().strip().splitlines()[0].strip()
    files = {  # name: (bytes, may be run)
        "hpctop/__init__.py": (read(folder, "share/hpctop/python/hpctop.py"), False),
        "hpctop_notebook.py": (read(folder, "share/hpctop/python/hpctop_notebook.py"), False),
        "hpctop/_run.py": (RUN.encode(), False),
        "hpctop/bin/hpctop": (read(folder, "bin/hpctop"), True),
        "hpctop/include/hpctop.h": (read(folder, "include/hpctop.h"), False),
    }
    for name in sorted(os.listdir(os.path.join(folder, "lib/hpctop"))):
        files["hpctop/lib/hpctop/" + name] = (read(folder, "lib/hpctop", name), True)
    files[info + "METADATA"] = ((METADATA % (version, license_name, read(folder, "README.md").decode())).encode(), False)
    files[info + "WHEEL"] = ("Wheel-Version: 1.0\nGenerator: hpctop\nRoot-Is-Purelib: false\n" +
                             "".join("Tag: py3-none-%s\n" % tag for tag in TAG.split("-")[2].split(".")), False)
    files[info + "entry_points.txt"] = ("[console_scripts]\nhpctop = hpctop._run:main\n", False)
    files[info + "LICENSE"] = (read(folder, "LICENSE"), False)
    record = ""
    path = os.path.join(into, "hpctop-%s-%s.whl" % (version, TAG))
    with zipfile.ZipFile(path + ".new", "w", zipfile.ZIP_DEFLATED) as out:
        for name, (content, may_run) in files.items():
            content = content.encode() if isinstance(content, str) else content
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += "%s,sha256=%s,%d\n" % (name, digest, len(content))
            add(out, name, content, may_run)
        add(out, info + "RECORD", (record + info + "RECORD,,\n").encode(), False)
    os.replace(path + ".new", path)
    print(path)


def add(out, name, content, may_run):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if may_run else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    out.writestr(entry, content)


if __name__ == "__main__":
    main()
