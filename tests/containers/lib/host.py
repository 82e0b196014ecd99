"""The host of these tests: a Debian trixie with Open MPI 5, Apptainer, Charliecloud and Podman, entered as an ordinary
user, and images of other releases.  All of it is unpacked by tests/roots.sh and kept."""
import os
import shutil
import subprocess

from common import LIBTRACE, TOP, Result, run, skip_all

LIB = os.path.join(TOP, "tests/containers/lib")
ROOTS = os.environ.get("HPCTOP_TEST_ROOTS") or os.path.join(TOP, "build/roots")
NODE = "node1"
HOST = ["openmpi-bin", "podman", "crun", "passt", "catatonit", "charliecloud", "squashfuse", "fuse-overlayfs", "uidmap",
        "squashfs-tools", "ca-certificates", "mmdebstrap", "debian-archive-keyring",
        "libcjson1", "libncursesw6", "libdw1t64", "strace", "python3", "openssh-server", "openssh-client", "iproute2"]
# Where it differs from what the host has: its release, and what is in it.
IMAGES = {"openmpi": ("bookworm", ["openmpi-bin"]),  # MPI inside: 4.1.4 under the host's 5.0, glibc 2.36 under its 2.41
          "bare": ("sid", ["ca-certificates"])}      # no MPI inside: the host's is mounted, so its glibc must be newer
WANTED = os.path.abspath("job")
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"


def root(release, name, packages):
    done = run([os.path.join(TOP, "tests/roots.sh"), release, "containers-" + name] + packages, timeout=1500)
    if done.code:
        skip_all((done.err.strip() or "no root").splitlines()[-1])
    return done.out.strip()


def needs():
    """Ends the test where this machine cannot do it, with the reason."""
    if os.geteuid():
        skip_all("needs root, to enter another Debian by pivot_root")
    for tool in ("unshare", "setpriv", "mount"):
        if not shutil.which(tool):
            skip_all("no " + tool)
    done = run(["unshare", "--mount", "--uts", "true"])
    if done.code:
        skip_all("no mount namespace here: " + done.err.strip())


def settle(path):
    """What a running system has and an unpacked one lacks; once."""
    with open(os.path.join(path, "etc/passwd"), "r+") as f:
        if "guest:" not in f.read():
            f.write("guest:x:1000:1000::/home/guest:/bin/bash\n")
            for name, line in (("group", "guest:x:1000:"), ("subuid", "guest:100000:65536"), ("subgid", "guest:100000:65536")):
                with open(os.path.join(path, "etc", name), "a") as g:
                    g.write(line + "\n")
    home = os.path.join(path, "home/guest")
    os.makedirs(home, exist_ok=True)
    os.chown(home, 1000, 1000)
    with open(os.path.join(path, "etc/hosts"), "w") as f:
        f.write("127.0.0.1 localhost %s\n" % NODE)
    shutil.copyfile("/etc/resolv.conf", os.path.join(path, "etc/resolv.conf"))


def host():
    """Its folder.  Apptainer is in Debian sid alone; it runs on trixie."""
    needs()
    path = root("trixie", "host", HOST)
    settle(path)
    if not os.path.exists(os.path.join(path, "usr/bin/apptainer")):
        with open(os.path.join(path, "etc/apt/sources.list")) as f:
            mirror = next(line.split()[1] for line in f if line.startswith("deb ") or line.startswith("deb\t"))
        with open(os.path.join(path, "etc/apt/sources.list.d/sid.list"), "w") as f:
            f.write("deb %s sid main\n" % mirror)
        with open(os.path.join(path, "etc/apt/preferences.d/sid"), "w") as f:
            f.write("Package: *\nPin: release n=sid\nPin-Priority: 50\n")
        done = enter(["sh", "-ec", "apt-get -o Acquire::Check-Valid-Until=false update;"
                      "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends apptainer/sid"],
                     timeout=900, path=path, as_root=True)
        if done.code:
            skip_all("Apptainer does not install: " + (done.err.strip() or "no reason given").splitlines()[-1])
    return path


def image(name):
    release, packages = IMAGES[name]
    return root(release, name, packages)


def enter(command, timeout=120, path=None, binds=(), as_root=False, **env):
    """Runs a command on that host, in the folder `job`, which it shares with us like the sources."""
    os.makedirs(WANTED, exist_ok=True)
    os.chown(WANTED, 1000, 1000)
    words = [os.path.join(LIB, "enter.sh"), path or host(), "-n", NODE, "-d", WANTED]
    for folder in [TOP, WANTED, ROOTS] + list(binds):
        words += ["-b", os.path.abspath(folder)]
    words += (["-0"] if as_root else []) + ["--"] + command
    # As a login there would have it: of our own environment only what tells Open MPI that this machine is small.
    small = "PRTE_MCA_rmaps_default_mapping_policy"
    mine = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", small: os.environ.get(small, ":oversubscribe")}
    mine.update({k: str(v) for k, v in env.items()})
    return run(words, mine, timeout)


def in_job(*parts):
    return os.path.join(WANTED, *parts)


def debian(release, name="base"):
    """A plain Debian as the user has it: unpacked by him, in a folder (what root alone may read is not in it).  Where this
    machine trusts more certificates than Debian does, as behind a proxy of the site's, so does that."""
    base = in_job(release)
    packed = subprocess.Popen(["tar", "-C", root(release, name, ["ca-certificates"]), "--exclude", "./dev/*", "-c", "."],
                              stdout=subprocess.PIPE)
    os.makedirs(base)
    subprocess.run(["tar", "-C", base, "-x", "--no-same-owner"], stdin=packed.stdout, check=True)
    packed.wait()
    if os.path.exists("/" + CERTIFICATES):
        shutil.copyfile("/" + CERTIFICATES, os.path.join(base, CERTIFICATES))
    subprocess.run(["chown", "-R", "1000:1000", base], check=True)
    return base


# What a podman command leaves behind keeps this mount namespace; the next one would be led into it.
AFTERWARDS = ["sh", "-c", '"$@"; code=$?; podman system migrate >/dev/null 2>&1; exit $code', "-"]


def podman_image(name):
    """The image in the user's own storage on the host, under a name without a registry; imported once."""
    local = "localhost/%s:%s" % (name, IMAGES[name][0])
    if enter(AFTERWARDS + ["podman", "image", "exists", local]).code == 0:
        return local
    tar = in_job(name + ".tar")
    subprocess.run(["tar", "-C", image(name), "--exclude", "./dev/*", "-cf", tar, "."], check=True)
    done = enter(AFTERWARDS + ["podman", "import", "-q", tar, local], timeout=600)
    os.remove(tar)
    if done.code:
        skip_all("podman import: " + (done.err.strip() or "no reason given").splitlines()[-1])
    return local


__all__ = ["LIBTRACE", "NODE", "Result", "debian", "enter", "host", "image", "in_job", "needs", "podman_image", "root"]
