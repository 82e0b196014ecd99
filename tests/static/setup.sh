#!/bin/bash
# tests/setup.sh with stand-ins for apt, dpkg and sudo: what stumbles is tried again, what cannot be had is named, and why.
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; fi; }
mkdir bin
cat >bin/dpkg-query <<'EOF'
#!/bin/sh
for package; do :; done
grep -qx "$package" installed && echo "$SELECTION ok installed" || echo "install ok half-configured"
EOF
# The first so many calls of each kind fail, and say ERROR; PACKAGE_GONE never comes, and then nothing that is asked for with it.
cat >bin/apt-get <<'EOF'
#!/bin/sh
case " $* " in *" update "*) kind=update ;; *) kind=install ;; esac
echo "$*" >>calls
echo x >>count-$kind
if [ "$(wc -l <count-$kind)" -le "$STUMBLES" ]; then echo "$ERROR"; exit 100; fi
[ $kind = install ] || exit 0
case " $* " in *" $PACKAGE_GONE "*) echo "E: Unable to locate package $PACKAGE_GONE"; exit 100 ;; esac
while [ "$1" != --no-install-recommends ]; do shift; done
shift
for package; do echo "$package" >>installed; done
EOF
printf '#!/bin/sh\necho "$*" >>configured\n' >bin/dpkg
printf '#!/bin/sh\necho "$IDENTITY"\n' >bin/id
printf '#!/bin/sh\necho sudo >>as\n[ -z "$REFUSAL" ] || { echo "$REFUSAL" >&2; exit 1; }\nexec "$@"\n' >bin/sudo
printf '#!/bin/sh\necho x >>pauses\n' >bin/sleep
chmod +x bin/*
stumble="E: Failed to fetch http://mirror/x  503  the mirror stumbles"
export SELECTION=install REFUSAL= ERROR="$stumble"
setup() { # setup STUMBLES PACKAGE_GONE UID: what it says is in ./said
    rm -f count-* calls configured as installed pauses
    : >installed
    PATH=$PWD/bin:$PATH SETUP_PAUSE=0 STUMBLES=$1 PACKAGE_GONE=$2 IDENTITY=$3 "$TOP/tests/setup.sh" build >said 2>&1
}
all=$(sed -n 's/^build="\(.*\)"/\1/p' "$TOP/tests/setup.sh" | wc -w)

setup 0 none 0; result $? "exit 0" "it is $?"
[ "$(sort -u installed | wc -l)" = "$all" ]; result $? "everything is installed" "$(cat installed said)"
[ ! -e as ]; result $? "root needs no sudo" "it was used"
PATH=$PWD/bin:$PATH IDENTITY=0 "$TOP/tests/setup.sh" build >said 2>&1 && [ ! -s said ] && [ "$(wc -l <calls)" = 2 ]
result $? "nothing is done where all is there" "$(cat said calls)"
PATH=$PWD/bin:$PATH IDENTITY=0 SELECTION=hold "$TOP/tests/setup.sh" build >said 2>&1 && [ ! -s said ] && [ "$(wc -l <calls)" = 2 ]
result $? "a package that is held is there" "$(cat said calls)"
setup 2 none 1000
[ "$(sort -u installed | wc -l)" = "$all" ] && [ "$(wc -l <count-update)" = 3 ]; result $? "a mirror that stumbles twice" "$(cat said calls)"
grep -q -- --configure configured && grep -q sudo as; result $? "as a user, by sudo; what dpkg left half done is finished" "$(ls)"
! grep -q "could not" said; result $? "and no complaint" "$(cat said)"
setup 0 libdw-dev 0
[ "$(sort -u installed | wc -l)" = $((all - 1)) ]; result $? "one that is not to be had keeps no other away" "$(cat installed said)"
grep -q "could not install libdw-dev: E: Unable to locate package libdw-dev" said; result $? "it is named, and why" "$(cat said)"
setup 99 none 0
grep -q "apt-get update failed.*the mirror stumbles" said; result $? "a mirror that is gone is told" "$(cat said)"
[ "$(wc -l <count-update)" = 4 ] && [ "$(wc -l <pauses)" = 6 ]; result $? "after four tries" "$(cat calls pauses)"
[ "$(grep -c Timeout calls)" = 8 ]; result $? "packages one by one wait for nobody" "$(cat calls)"
ERROR="E: You don't have enough free space in /var/cache/apt/archives/." setup 99 none 0
[ "$(wc -l <count-update)" = 1 ] && [ ! -e pauses ]; result $? "what does not pass is not tried again" "$(cat calls)"
grep -q "could not install gcc: E: You don't have enough free space" said; result $? "but told" "$(cat said)"
ERROR="E: Failed to fetch http://mirror/x  Temporary failure resolving 'mirror'" setup 99 none 0
[ "$(wc -l <calls)" = 4 ] && [ "$(wc -l <pauses)" = 2 ]; result $? "without a network, one more try" "$(cat calls)"
grep -q "no network (Temporary failure resolving 'mirror'), still missing: gcc " said; result $? "and it is told" "$(cat said)"
for lock in "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt-get)" \
    "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem."; do
    ERROR=$lock setup 3 none 0
    [ "$(sort -u installed | wc -l)" = "$all" ]; result $? "passes: ${lock:3:18}" "$(cat said calls)"
done
REFUSAL="sudo: a password is required" setup 0 none 1000; result $? "exit 0 where sudo refuses" "it is $?"
[ "$(wc -l <as)" = 1 ] && [ ! -e calls ] && [ ! -e pauses ]; result $? "sudo is asked once" "$(cat as calls pauses 2>&1)"
grep -q "sudo: a password is required; as root: apt-get install --no-install-recommends gcc" said
result $? "what is missing is told, and how to install it" "$(cat said)"
exit $bad
