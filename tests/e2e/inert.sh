#!/bin/bash
# timeout: 90
# libtrace.so in processes that use no MPI does nothing at all: no file, no thread, no output, the same exit status.
# That includes the launcher, which gets it too when a user types LD_PRELOAD=libtrace.so mpirun ...
bad=0
fail() { echo "not ok $*"; bad=1; }
pass() { echo "ok $*"; }

for command in "true" "false" "env" "echo hello" "bash -c 'exit 3'" "tee copy" "python3 -c 'print(1)'"; do
    name=${command%% *}
    mkdir -p plain traced
    (cd plain && eval "$command" </dev/null >../plain.out 2>../plain.err); plain=$?
    (cd traced && LD_PRELOAD=$LIBTRACE eval "LD_PRELOAD=$LIBTRACE $command" </dev/null >../traced.out 2>../traced.err); traced=$?
    grep -v '^LD_PRELOAD=\|^PWD=\|^OLDPWD=\|^_=' plain.out >a; grep -v '^LD_PRELOAD=\|^PWD=\|^OLDPWD=\|^_=' traced.out >b
    if [ $plain -ne $traced ]; then fail "$name: exit $traced, without libtrace.so $plain"
    elif ! cmp -s a b; then fail "$name: stdout differs: $(diff a b | head -n 3 | tr '\n' ' ')"
    elif [ -s traced.err ]; then fail "$name: says on stderr: $(head -c 200 traced.err)"
    elif [ -n "$(find traced -name '*hpctop*')" ]; then fail "$name: left a file: $(find traced -name '*hpctop*')"
    else pass "$name"; fi
    rm -rf plain traced
done

# A process that stays, to look at from outside: threads and mappings.
LD_PRELOAD=$LIBTRACE sleep 20 &
pid=$!
sleep 0.5
threads=$(ls /proc/$pid/task | wc -l)
[ "$threads" = 1 ] && pass "sleep has one thread" || fail "sleep: has $threads threads"
grep -q libtrace.so /proc/$pid/maps || fail "sleep: libtrace.so is not loaded, the test tests nothing"
grep -q '\.hpctop' /proc/$pid/maps && fail "sleep: maps a trace file" || pass "sleep maps no trace"
open=$(ls -l /proc/$pid/fd | grep -c hpctop)
[ "$open" = 0 ] && pass "sleep has no file open" || fail "sleep: has a file of ours open"
kill $pid 2>/dev/null
wait $pid 2>/dev/null

# The whole launch: one file for each rank, none for mpirun, orted and the shell between.
mkdir launch && cd launch || exit 1
LD_PRELOAD=$LIBTRACE HPCTOP_DIR=$PWD/trace mpirun -n 2 bash -c "exec $WORKLOADS/ring" >out 2>err </dev/null
code=$?
[ $code = 0 ] || fail "mpirun: exit $code: $(tail -n 3 err)"
[ ! -s out ] && [ ! -s err ] && pass "mpirun says nothing" || fail "mpirun: says $(head -c 300 out err)"
files=$(find . -name '*.hpctop' | wc -l)
[ "$files" = 2 ] && pass "mpirun leaves a file a rank" || fail "mpirun: $files trace files, wanted 2: $(find . -type f | tr '\n' ' ')"

# While it runs: threads of mpirun itself are the same with and without.
count() { # of threads of an mpirun whose job sleeps
    "$@" mpirun -n 1 sleep 5 >/dev/null 2>&1 </dev/null &
    local p=$!
    sleep 1.5
    ls /proc/$p/task 2>/dev/null | wc -l
    kill $p 2>/dev/null; wait $p 2>/dev/null
}
plain=$(count env)
traced=$(count env LD_PRELOAD=$LIBTRACE)
[ "$plain" = "$traced" ] && pass "mpirun has no thread more" || fail "mpirun: $traced threads, without libtrace.so $plain"
exit $bad
