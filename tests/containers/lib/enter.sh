#!/bin/bash
# Runs a command as an ordinary user of another Debian: its folder becomes the root of a mount namespace of its own.
#   enter.sh ROOT [-b FOLDER].. [-d FOLDER] [-n HOSTNAME] [-0] -- CMD..
# -b: a folder of this machine that is seen inside at the same path.  -d: where to start.  -0: stay root.
# pivot_root and not chroot, since the kernel gives no user namespace to a process that was chrooted, and Apptainer,
# Charliecloud and rootless Podman need one.  Needs root here; inside it is the user `guest` (uid 1000).
set -eu
root=$(readlink -f "$1") binds=() start=/ host= user=(setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all)
shift
while [ "$1" != -- ]; do
    case $1 in
    -b) binds+=("$2") && shift ;;
    -d) start=$2 && shift ;;
    -n) host=$2 && shift ;;
    -0) user=() ;;
    *) echo "enter: what is $1?" >&2 && exit 64 ;;
    esac
    shift
done
shift

inside() {
    mount --bind "$root" "$root"
    mount -t tmpfs -o mode=1777 tmp "$root/tmp"
    for folder in "${binds[@]}"; do
        mkdir -p "$root$folder"
        mount --bind "$folder" "$root$folder"
    done
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --make-rslave "$root/sys"
    # Podman's crun refuses the mixture of both versions of control groups that some machines have.
    umount -R "$root/sys/fs/cgroup" && mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs -o mode=755 dev "$root/dev"
    for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0 fuse:10:229; do
        IFS=: read -r name major minor <<<"$node"
        mknod "$root/dev/$name" c "$major" "$minor"
        chmod 666 "$root/dev/$name"
    done
    mkdir "$root"/dev/{pts,shm,mqueue}
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
    mount -t mqueue mqueue "$root/dev/mqueue"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    [ -z "$host" ] || hostname "$host"
    cd "$root"
    pivot_root . mnt
    hash -r # its programs may lie elsewhere
    umount -l /mnt
    mount --make-rshared /
    mkdir -p /run/user/1000
    mount -t tmpfs -o mode=700,uid=1000,gid=1000 run /run/user/1000
    cd "$start"
    exec "${user[@]}" env HOME=/home/guest USER=guest LOGNAME=guest XDG_RUNTIME_DIR=/run/user/1000 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}
export -f inside
export root start host
exec unshare --mount --uts --ipc -- bash -c "set -eu; binds=(${binds[*]@Q}); user=(${user[*]@Q}); inside \"\$@\"" enter "$@"
