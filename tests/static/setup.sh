#!/bin/bash
# tests/setup.sh with stand-ins for apt and dpkg: what stumbles is tried again, what cannot be had is named, and why.
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; fi; }
mkdir bin
cat >bin/dpkg-query <<'EOF'
#!/bin/sh
for package; do :; done
grep -qx "$package" installed && echo "install ok installed" || echo "install ok half-configured"
EOF
# The first so many calls of each kind fail; PACKAGE_GONE never comes, and then nothing that is asked for with it.
cat >bin/apt-get <<'EOF'
#!/bin/sh
case " $* " in *" update "*) kind=update ;; *) kind=install ;; esac
echo "$*" >>calls
echo x >>count-$kind
if [ "$(wc -l <count-$kind)" -le "$STUMBLES" ]; then echo "E: the mirror stumbles"; exit 100; fi
[ $kind = install ] || exit 0
case " $* " in *" $PACKAGE_GONE "*) echo "E: Unable to locate package $PACKAGE_GONE"; exit 100 ;; esac
while [ "$1" != --no-install-recommends ]; do shift; done
shift
for package; do echo "$package" >>installed; done
EOF
printf '#!/bin/sh\necho "$*" >>configured\n' >bin/dpkg
printf '#!/bin/sh\necho "$IDENTITY"\n' >bin/id
printf '#!/bin/sh\necho sudo >>as\nexec "$@"\n' >bin/sudo
chmod +x bin/*
setup() { # setup STUMBLES PACKAGE_GONE UID: what it says is in ./said
    rm -f count-* calls configured as installed
    : >installed
    PATH=$PWD/bin:$PATH SETUP_PAUSE=0 STUMBLES=$1 PACKAGE_GONE=$2 IDENTITY=$3 "$TOP/tests/setup.sh" build >said 2>&1
}
all=$(sed -n 's/^build="\(.*\)"/\1/p' "$TOP/tests/setup.sh" | wc -w)

setup 0 none 0; result $? "exit 0" "it is $?"
[ "$(sort -u installed | wc -l)" = "$all" ]; result $? "everything is installed" "$(cat installed said)"
[ ! -e as ]; result $? "root needs no sudo" "it was used"
PATH=$PWD/bin:$PATH IDENTITY=0 "$TOP/tests/setup.sh" build >said 2>&1 && [ ! -s said ] && [ "$(wc -l <calls)" = 2 ]
result $? "nothing is done where all is there" "$(cat said calls)"
setup 2 none 1000
[ "$(sort -u installed | wc -l)" = "$all" ] && [ "$(wc -l <count-update)" = 3 ]; result $? "a mirror that stumbles twice" "$(cat said calls)"
grep -q -- --configure configured && grep -q sudo as; result $? "as a user, by sudo; what dpkg left half done is finished" "$(ls)"
! grep -q "could not" said; result $? "and no complaint" "$(cat said)"
setup 0 libdw-dev 0
[ "$(sort -u installed | wc -l)" = $((all - 1)) ]; result $? "one that is not to be had keeps no other away" "$(cat installed said)"
grep -q "could not install libdw-dev: E: Unable to locate package libdw-dev" said; result $? "it is named, and why" "$(cat said)"
setup 99 none 0
grep -q "apt-get update failed.*the mirror stumbles" said; result $? "a mirror that is gone is told" "$(cat said)"
exit $bad
