# timeout: 1800
# long
"""Packages in other releases of Debian: the tarball runs in all of them, the Debian package is installed, run and removed;
lintian and auditwheel find nothing.  The spec file makes an RPM that has all files and runs."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

from common import TOP, check, end, make, mpirun, report, run, skip, workload

NEEDS = {"bookworm": ["libcjson1", "libdw1", "libncursesw6"], "trixie": ["libcjson1", "libdw1t64", "libncursesw6"]}
TOOLS = "debhelper lintian patchelf python3-venv"


def root_of(release):
    """The root of a release, for root only: programs are run in it by chroot.  None: it cannot be had."""
    done = run([os.path.join(TOP, "tests/roots.sh"), release, "packages-" + release, *NEEDS.get(release, ["apt"])], timeout=900)
    if done.code != 0 or os.geteuid() != 0 or not shutil.which("bwrap"):
        skip(release, done.err.strip() or "bubblewrap is missing, or this is not root")
        return None
    return done.out.strip()


def inside(root, *command):
    return run(["bwrap", "--die-with-parent", "--bind", root, "/", "--dev", "/dev", "--proc", "/proc", "env", "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *command], timeout=300)


def same_report(release, what, root, program):
    done = inside(root, program, "report", "--json", "/tmp/trace")
    same = done.code == 0 and all(json.loads(done.out)[key] == HERE[key] for key in ("calls", "ranks", "pairs", "efficiency", "path_s"))
    check("%s: %s reports the same as here" % (release, what), same, done)
    done = inside(root, program, "verdict", "/tmp/trace")
    check("%s: %s has a verdict" % (release, what), done.code == 0 and done.out.startswith("healthy"), done)


made = mpirun(2, [workload("ring")], "trace")
HERE = report("trace")
check("a job to report on", made.code == 0 and HERE, made)
packages = os.path.abspath("packages")
made = make("wheel", "deb", "PACKAGES=" + packages)
if shutil.which("dpkg-buildpackage") and shutil.which("dh"):
    check("make deb", made.code == 0, made)
    if shutil.which("lintian"):
        check("lintian finds nothing", "hpctop: " not in made.out + made.err, made)
    else:
        skip("lintian", "it is missing; as root: apt-get install " + TOOLS)
else:
    skip("make deb", "debhelper is missing; as root: apt-get install " + TOOLS)



def stripped():
    """The package has libtrace.so without symbols and debug information; hpctop-dbgsym has these, by its build id."""
    for name in ("hpctop", "hpctop-dbgsym"):
        found = glob.glob("%s/%s_*.deb" % (packages, name))
        if not check("there is a package " + name, len(found) == 1, os.listdir(packages)):
            return
        run(["dpkg-deb", "-x", found[0], "deb-" + name])
    said = run(["readelf", "-nSW", "deb-hpctop/usr/lib/hpctop/libtrace.so"]).out
    check("the package's libtrace.so is stripped", ".dynsym" in said and not re.search(r"\.(symtab|debug_)", said), said)
    build_id = re.search(r"Build ID: (\w+)", said).group(1)
    debug = "deb-hpctop-dbgsym/usr/lib/debug/.build-id/%s/%s.debug" % (build_id[:2], build_id[2:])
    check("hpctop-dbgsym has its debug information", ".debug_info" in run(["readelf", "-SW", debug]).out, debug)


if made.code == 0 and glob.glob(packages + "/*.deb"):
    stripped()

env = run([sys.executable, "-m", "venv", "env"])
pip = run(["env/bin/pip", "install", "-q", "auditwheel"], timeout=300)
if env.code == 0 and pip.code == 0 and shutil.which("patchelf"):
    done = run(["env/bin/auditwheel", "show", glob.glob(packages + "/*.whl")[0]], env=dict(os.environ, COLUMNS="500"))
    words = " ".join(done.out.split())
    check("auditwheel: manylinux2014", 'consistent with the following platform tag: "manylinux_2_17_x86_64"' in words, done)
else:
    skip("auditwheel", "it cannot be installed here")

def rpm():
    """By Debian's rpmbuild, without the names that Fedora has for what it needs."""
    if not shutil.which("rpmbuild") or not shutil.which("rpm2cpio") or not shutil.which("cpio"):
        skip("spec file", "rpmbuild or cpio is missing; as root: apt-get install rpm cpio")
        return
    spec, tree = os.path.join(TOP, "packaging/hpctop.spec"), os.path.abspath("rpm")
    version = re.search(r"^Version: *(\S+)$", open(spec).read(), re.M).group(1)
    os.makedirs(tree + "/SOURCES")
    packed = run(["tar", "-C", TOP, "--exclude=./build", "--exclude=./.git", "--exclude=./hpctop", "--exclude=./libtrace.so", "--transform", "s,^[.],hpctop-%s," % version, "-czf",
                  "%s/SOURCES/hpctop-%s.tar.gz" % (tree, version), "."], timeout=120)
    plain = {k: v for k, v in os.environ.items() if k not in ("TOP", "BUILD", "HPCTOP", "LIBTRACE", "WORKLOADS")}  # make heeds some
    built = run(["rpmbuild", "--nodeps", "-bb", "--define", "_topdir " + tree, spec], env=plain, timeout=900)
    found = glob.glob(tree + "/RPMS/*/hpctop-%s-*.rpm" % version)
    if not check("the spec file makes an RPM", packed.code == 0 and built.code == 0 and found, (built.out + built.err)[-2000:]):
        return
    found = [f for f in found if "debug" not in f]
    os.makedirs("unpacked")
    run(["sh", "-c", "rpm2cpio '%s' | (cd unpacked && cpio -idm --quiet)" % found[0]])
    done = run(["unpacked/usr/bin/hpctop", "report", "--json", "trace"])
    check("the RPM's hpctop reports the same", done.code == 0 and json.loads(done.out)["calls"] == HERE["calls"], done)
    lib = os.path.abspath(glob.glob("unpacked/usr/lib/hpctop/libtrace.so")[0])
    done = run(["/bin/true"], env=dict(os.environ, LD_PRELOAD=lib))
    check("the RPM's libtrace.so loads", done.code == 0 and not done.err, done)
    check("the RPM has the man pages", len(glob.glob("unpacked/usr/share/man/man*/*")) == 3, os.listdir("unpacked/usr/share/man"))


rpm()
for release in ("bullseye", "bookworm", "trixie", "sid"):
    root = root_of(release)
    if not root:
        continue
    for name in ("hpctop", "trace"):
        shutil.rmtree(os.path.join(root, "tmp", name), ignore_errors=True)
    shutil.copytree("trace", os.path.join(root, "tmp/trace"))
    os.makedirs(os.path.join(root, "tmp/hpctop"))
    subprocess.run(["tar", "-xzf", glob.glob(packages + "/*x86_64.tar.gz")[0], "-C", os.path.join(root, "tmp/hpctop"), "--strip-components=1"],
                   check=True)
    same_report(release, "the tarball", root, "/tmp/hpctop/bin/hpctop")
    done = inside(root, "env", "LD_PRELOAD=/tmp/hpctop/lib/hpctop/libtrace.so", "/bin/true")
    check(release + ": libtrace.so loads", done.code == 0 and not done.err, done)
    debs = glob.glob(packages + "/hpctop_*.deb")
    if release not in ("bookworm", "trixie") or not debs:
        continue
    shutil.copy(debs[0], os.path.join(root, "tmp/hpctop.deb"))
    done = inside(root, "apt-get", "install", "-y", "--no-install-recommends", "/tmp/hpctop.deb")
    if check(release + ": the package is installed", done.code == 0, done.err[-500:]):
        same_report(release, "the package", root, "hpctop")
    done = inside(root, "apt-get", "purge", "-y", "hpctop")
    left = [path for path in glob.glob(root + "/usr/**/*hpctop*", recursive=True)]
    check(release + ": and removed", done.code == 0 and not left, (done.err[-300:], left))
end()
