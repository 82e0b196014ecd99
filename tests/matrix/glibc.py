# timeout: 900
"""The oldest glibc at hand, bullseye's 2.31: libtrace.so loads into what uses no MPI and changes nothing there.  (An MPI
program does the same in c-openmpi-4.1.0 and c-mpich-3.4; tests/static/elf.sh reads what glibc is needed at least.)"""
from common import check, end
from libraries import PACKAGES
from root import PRELOAD, Root, unpack

root = Root(unpack("bullseye", "matrix-bullseye", PACKAGES))
version = root.run(["ldd", "--version"]).out.split("\n")[0]
check("it is 2.31", version.endswith(" 2.31"), version)
for command in (["true"], ["bash", "-c", "echo $BASH_VERSION; exit 3"], ["ls", "/usr"], ["python3", "-c", "print(6*7)"],
                ["gcc", "--version"], ["env", "LD_BIND_NOW=1", "ls", "/"]):
    bare = root.run(command)
    with_it = root.run(command, LD_PRELOAD=PRELOAD)
    check(" ".join(command[:2]), (bare.code, bare.out, bare.err) == (with_it.code, with_it.out, with_it.err), with_it)
mapped = root.run(["grep", "-c", "libtrace", "/proc/self/maps"], LD_PRELOAD=PRELOAD)
check("it was loaded", mapped.code == 0 and int(mapped.out) > 0, mapped)
end()
