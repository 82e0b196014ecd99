# timeout: 4000
# cases: apptainer podman
"""The definitions of packaging/container are built, as an ordinary user and without a registry, of the archive of `make tarball`.
hpctop in them reads a trace of the host, and uses what is in the image: OTF2, SQLite."""
import glob
import json
import os
import shutil
import sys

from common import BUILD, TOP, check, end, hpctop, make, run
from host import AFTERWARDS, debian, enter, host, in_job

case = sys.argv[1]
path = host()
enter(["true"], path=path)
made = make("tarball")
archives = glob.glob(os.path.join(TOP, "build/packages/hpctop-*.tar.gz"))
check("make tarball", made.code == 0 and len(archives) == 1, made)
shutil.copytree(os.path.join(TOP, "packaging"), in_job("packaging"))
shutil.copy(archives[0], in_job("hpctop.tar.gz"))
if case == "apptainer":
    built = enter(["apptainer", "-s", "build", "--build-arg", "BOOTSTRAP=localimage", "--build-arg", "FROM=" + debian("bookworm"),
                   "--build-arg", "ARCHIVE=hpctop.tar.gz", "hpctop.sif", "packaging/container/hpctop.def"], path=path, timeout=1500)
    words = ["apptainer", "-s", "run", "hpctop.sif"]
else:
    packed = enter(["tar", "-C", debian("bookworm"), "-cf", "base.tar", "."], path=path, timeout=300)
    check("a base", packed.code == 0, packed)
    built = enter(AFTERWARDS + ["sh", "-c", "podman import -q base.tar debian:bookworm && podman build -q --network host --build-arg ARCHIVE=hpctop.tar.gz "
                                "-t hpctop -f packaging/container/Dockerfile ."], path=path, timeout=1500)
    words = AFTERWARDS + ["podman", "run", "--rm", "--net=host", "-v", in_job(".") + ":/job", "-w", "/job", "hpctop"]


def inside(*arguments):
    return enter(words + list(arguments), path=path, timeout=300)


if check("the image builds", built.code == 0, built):
    job = run([os.path.join(BUILD, "tests/many/many"), "--ranks", "3", "--hosts", "2", "--rounds", "20", in_job("trace")])
    check("a trace", job.code == 0, job)
    os.chmod(in_job("trace"), 0o777)
    for name in os.listdir(in_job("trace")):
        os.chmod(os.path.join(in_job("trace"), name), 0o644)
    said, want = inside("version"), hpctop("version")
    check("it is this version", said.code == 0 and said.out == want.out, said)
    said, want = inside("report", "--json", "trace"), hpctop("report", "--json", in_job("trace"))
    check("the same report", said.code == 0 and json.loads(said.out)["ranks"] == json.loads(want.out)["ranks"], said)
    for what, arguments in (("OTF2", ["export", "--format", "otf2", "-o", "out.otf2", "trace"]),
                            ("SQLite", ["jobs", "--db", "list.db", "--add", "trace"])):
        said = inside(*arguments)
        check("%s is there" % what, said.code == 0, said)
end()
