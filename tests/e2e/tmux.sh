#!/bin/bash
# timeout: 180
# The screens in a real terminal: tests/e2e/tmux.sh [trace folder].  Keys, mouse, sizes, locales, and the terminal as it
# was afterwards.  Everything is waited for, nothing is timed.
command -v tmux >/dev/null || { echo "tmux is missing"; exit 77; }
: "${TOP:=$(cd "$(dirname "$0")/../.." && pwd)}" "${BUILD:=$TOP/build/plain}"
: "${HPCTOP:=$TOP/hpctop}" "${LIBTRACE:=$TOP/libtrace.so}" "${WORKLOADS:=$BUILD/workloads}"
here=$(mktemp -d) || exit 1
server=0
export SHELL=/bin/sh  # an account may have one that lets nobody in
pane() { tmux -L "hpctop-$$-$server" "$@" 2>/dev/null; }
# terminal COLS ROWS COMMAND: a fresh one, of a server of its own: one that still ends would take it with it.
terminal() {
    pane kill-server
    server=$((server + 1))
    for _ in $(seq 300); do
        pane -f /dev/null new-session -d -s t -x "$1" -y "$2" "$3" && pane has-session -t t && return
        sleep 0.1
    done
}
trap 'pane kill-server; rm -rf "$here"' EXIT
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; pane capture-pane -p -t t | sed 's/^/    | /'; fi; }

trace=$1
if [ -z "$trace" ]; then
    trace=$here/trace
    HPCTOP_DIR=$trace LD_PRELOAD=$LIBTRACE mpirun -n 4 "$WORKLOADS/stencil" 2 >"$here/mpirun.out" 2>&1 ||
        { cat "$here/mpirun.out"; echo "not ok trace: the job failed"; exit 1; }
fi
trace=$(cd "$trace" && pwd) || exit 1

shows() { pane capture-pane -p -t t | grep -qE -- "$1"; }
await() { # await PATTERN: until the screen shows it, for at most 90 s
    for _ in $(seq 900); do shows "$1" && return 0; sleep 0.1; done
    return 1
}
leaves() { # leaves PATTERN: until the screen shows it no more, for as long
    for _ in $(seq 900); do shows "$1" || return 0; sleep 0.1; done
    return 1
}
# In the foreground from the start: `fg` restores the modes that it finds, and may find those of the screens.
start() { # start COLS ROWS ENVIRONMENT..: hpctop in a fresh terminal, in an empty folder
    rm -rf "$here/cwd" "$here/after"; mkdir "$here/cwd"
    local cols=$1 rows=$2
    shift 2
    cat >"$here/inside.sh" <<EOF
trap : INT; cd '$here/cwd'; stty -a >'$here/before'
sh -c 'echo \$\$ >"\$0"; exec "\$@"' '$here/pid' env $* '$HPCTOP' '$trace' 2>'$here/stderr'
echo "EXIT \$?"; stty -a >'$here/now'; mv '$here/now' '$here/after'; sleep 600
EOF
    terminal "$cols" "$rows" "bash '$here/inside.sh'"
}
key() { pane send-keys -t t "$@"; }
modes() { sed 's/rows [0-9]*; columns [0-9]*;//' "$1"; } # of a terminal, without the size that tmux may tell it late
flags() { pane display -p -t t '#{alternate_on}#{cursor_flag}#{mouse_any_flag}'; }
restored() { # restored NAME: the terminal is as it was: modes, screen, cursor, mouse
    await '^EXIT' || { result 1 "$1" "it does not end"; return; }
    for _ in $(seq 300); do [ -s "$here/after" ] && break; sleep 0.1; done
    [ "$(modes "$here/before")" = "$(modes "$here/after")" ] && [ "$(flags)" = 010 ]
    result $? "$1" "screen, cursor and mouse $(flags), modes $(diff <(modes "$here/before") <(modes "$here/after") | tr '\n' ' ')"
}

start 80 24 LC_ALL=C.UTF-8 TERM=screen-256color
await '1Over 2Ranks.*qQuit'; result $? overview "no key bar"
await 'CALL .*TIME'; result $? "table of calls" "no table"
for view in "2:RANK.*HOST.*STATE" "3:CALLS.*p50.*p99" "4:sender.*receiver" "5:COLLECTIVE.*COMM" "6:rank +00:00:0" "7:CALLED FROM"; do
    key "${view%%:*}"
    await "${view#*:}"; result $? "view ${view%%:*}" "not shown"
done
key '?'; await '^ Keys|lines 1 to'; result $? help "no help"
key Escape; await 'CALLED FROM'; result $? "back from help" "Esc does not lead back"
key F2; await 'RANK.*HOST'; result $? "F-keys" "F2 does nothing"
key '\'; await '^Filter: _'; key 'zzz'; await 'no row contains the filter'; result $? filter "nothing is filtered"
key Escape; await '^>? +0 '; result $? "filter gone" "the rows do not come back"
# Sequences that no terminal type has are taken as a whole: none of their letters is a key.
start 80 24 LC_ALL=C.UTF-8 TERM=vt100
await 'qQuit'; key 3; await 'CALLS.*p50.*p99'
for sequence in '[1;5D' '[1;5C' '[4~' '[24~' '[57441u' '[?62;22c' ']11;rgb:0000/1111/2222'$'\a' 'P1$r0m'$'\e''\' 'O5C'; do
    key -l $'\e'"$sequence"; sleep 0.1
done
key '?'; await 'Latency'; result $? "unknown sequences are no keys" "another view"
key q; await 'CALLS.*p50.*p99' && ! shows 's from [0-9]'; result $? "and change nothing" "a window"
printf '#!/bin/sh\necho "$@" >"%s/edited"; echo editing; while [ ! -e "%s/go" ]; do sleep 0.1; done\n' "$here" "$here" >"$here/editor"
chmod +x "$here/editor"
start 80 24 LC_ALL=C.UTF-8 TERM=screen-256color EDITOR="$here/editor"; await 'qQuit'

key 1; await 'CALL .*TIME'; pane set -s set-clipboard on; key y; await 'the screen is copied'
result $? "y copies" "no message"
for _ in $(seq 100); do pane show-buffer | grep -q 'MPI_Allreduce' && break; sleep 0.1; done
pane show-buffer | grep -q '1Over 2Ranks.*qQuit'; result $? "y: the clipboard has the screen" "$(pane show-buffer)"
key 2; await 'RANK.*HOST'; key Y; await 'the table is copied'
for _ in $(seq 100); do pane show-buffer | grep -q '"RANK","HOST"' && break; sleep 0.1; done
[ "$(pane show-buffer | grep -cE '^[0-3],')" = 4 ]; result $? "Y: and the table, as CSV" "$(pane show-buffer)"
key :; key -l 'save a.svg'; key Enter; await 'written to a.svg' && grep -q '</svg>' "$here/cwd/a.svg"
result $? ":save writes a picture" "none"
python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$here/cwd/a.svg"; result $? "and it is XML" "not"
key 1; await 'CALL .*TIME'
for size in 60x20 200x50 61x21; do
    pane resize-window -t t -x "${size%x*}" -y "${size#*x}"
    for _ in $(seq 600); do # the key bar is where the new last row is
        [ "$(pane capture-pane -p -t t | grep -n '1Over' | cut -d: -f1)" = "${size#*x}" ] && break
        sleep 0.1
    done
    [ "$(pane capture-pane -p -t t | grep -n '1Over' | cut -d: -f1)" = "${size#*x}" ]; result $? "size $size" "not redrawn"
done
pane resize-window -t t -x 40 -y 10; await 'views need 60x20, this is 40x10'; result $? "too small" "no polite line"
pane resize-window -t t -x 2 -y 2; sleep 0.3; pane resize-window -t t -x 80 -y 24
await '1Over 2Ranks.*qQuit'; result $? "from tiny to usual" "did not come back"
key 6; await 'rank +00:'; key + + + +; await 'from'; key z; key n p Tab
await 'rank [0-9]+: '; result $? "timeline in words" "no words below"
key n e; await 'Rank [0-9]+ at .* s' && await 'in MPI_' && await 'source +/.*stencil\.c:[0-9]+$' && await '^ +> +[0-9]+ .*MPI_'
result $? "e inspects the call at the cursor" "no call with its source"
place=$(pane capture-pane -p -t t | sed -n 's/^ source *//p')
key o; await '^editing' && [ "$(flags)" = 010 ]; result $? "o leaves the terminal to the editor" "screen, cursor and mouse $(flags)"
touch "$here/go"; await 'Rank [0-9]+ at .* s' && [ "$(cat "$here/edited")" = "+${place##*:} ${place%:*}" ]
result $? "and comes back; it got line and file" "$(cat "$here/edited")"
key Escape; await 'rank +00:'; result $? "back from the call" "Esc does not lead back"
# Without an editor the place is a link of the terminal.
start 80 24 LC_ALL=C.UTF-8 TERM=screen-256color; await 'qQuit'
pane pipe-pane -t t "cat >'$here/sent'"
key 6; await 'rank +00:'; key n e; await 'source +/.*stencil\.c:[0-9]+$'; key o; await 'stencil\.c:[0-9]+$'
link='\x1b\]8;;file://[^/]*/\S*/stencil\.c#(\d+)\x1b\\[^\x1b]*stencil\.c:\1\x1b\]8;;\x1b'
for _ in $(seq 100); do grep -qaP "$link" "$here/sent" && break; sleep 0.1; done
grep -qaP "$link" "$here/sent"
result $? "o shows file and line as a link" "$(tail -c 300 "$here/sent" | cat -v)"
start 80 24 LC_ALL=C.UTF-8 TERM=screen-256color; await 'qQuit'
# The mouse as TERM=screen has it: button, column and row + 32.  Column 8, row 24 is 2Ranks of the key bar.
key -l $'\e[M (8'; key -l $'\e[M#(8'
await 'RANK.*HOST'; result $? "mouse on the key bar" "the click does nothing"
# In the timeline from column 30 to 50 of row 5, then all time again; and the same by the prompt.
key 6; await 'rank +00:00:0'
key -l $'\e[M >%'; key -l $'\e[M#R%'
await 's from [0-9]'; result $? "dragging selects a window" "the whole run stays in view"
key z; await 'ranks, ' && leaves 's from [0-9]'; result $? "back to all time" "the window stays"
key :; key -l "0-0.001"; await '^:0-0.001_'; key Enter
await '1.00ms from 0'; result $? "the prompt selects a window" "the whole run stays in view"
key z 2
await 'RANK.*HOST'
key q; restored "q restores the terminal"
shows '^EXIT 0'; result $? "q is success" "another exit status"

start 80 24 LC_ALL=C.UTF-8; await 'qQuit'; key C-c; restored "Ctrl-C restores the terminal"
start 80 24 LC_ALL=C.UTF-8; await 'qQuit'; kill -TERM "$(cat "$here/pid")"; restored "SIGTERM restores the terminal"

start 80 24 LC_ALL=C; await 'qQuit'; key 6; await 'rank +00:'
! pane capture-pane -p -t t | LC_ALL=C grep -q '[^ -~]'; result $? "C locale: ASCII alone" "other characters"
start 80 24 LC_ALL=C.UTF-8 NO_COLOR=1; await 'qQuit'; key 4; await 'sender'
! pane capture-pane -e -p -t t | grep -qE $'\e\\[([0-9;]*;)?[34][0-7]'; result $? "NO_COLOR: no colours" "colours"
# With many colours the ground of a cell says what it is; where there are few, its letter does.
start 80 24 LC_ALL=C.UTF-8 TERM=screen-256color; await 'qQuit'; key 6; await 'rank +00:' && await 'other MPI'
! shows '^ +0 .*(W|m)(W|m)'; result $? "256 colours: no letters in the timeline" "letters"
for few in TERM=screen NO_COLOR=1; do
    start 80 24 LC_ALL=C.UTF-8 "$few"; await 'qQuit'; key 6; await 'rank +00:'
    await '^ +0 .*(W|m)(W|m)'; result $? "$few: letters in the timeline" "none"
done
start 80 24 LC_ALL=C.UTF-8 TERM=vt100; await 'qQuit'; result $? "vt100" "not shown"
for name in xterm-kitty no-such-terminal; do
    start 80 24 LC_ALL=C.UTF-8 "TERM=$name" TERMINFO=/nonexistent; await "terminal type $name is not known here"
    result $? "$name: another is used, and that is said" "$(cat "$here/stderr")"
    key 2; await 'RANK.*HOST'; result $? "$name: it works" "it does not"
done
# Direct colour: numbers of the palette would be nearly black.  "sent" of the overview is green or so, not blue.
if command -v tic >/dev/null; then
    printf '%s\n' 'hpctop-direct|direct colours,' '  RGB, colors#0x1000000, pairs#0x7FFF, setab@, setaf@,' \
        '  setaf=\E[%?%p1%{8}%<%t3%p1%d%e38\:2\:\:%p1%{65536}%/%d\:%p1%{256}%/%{255}%&%d\:%p1%{255}%&%d%;m,' \
        '  setab=\E[%?%p1%{8}%<%t4%p1%d%e48\:2\:\:%p1%{65536}%/%d\:%p1%{256}%/%{255}%&%d\:%p1%{255}%&%d%;m,' \
        '  use=xterm-256color,' >"$here/direct.ti"
    tic -x -o "$here/terminfo" "$here/direct.ti" 2>"$here/tic.out"
    start 80 24 LC_ALL=C.UTF-8 TERM=hpctop-direct "TERMINFO=$here/terminfo"; await 'qQuit'
    # DIM is 245, which is #8a8a8a; JOB is 252 on 238: #d0d0d0 on #444444.
    pane capture-pane -e -p -t t | head -1 | grep -qE '38[;:]2[;:]+208[;:]208[;:]208' &&
        pane capture-pane -e -p -t t | head -1 | grep -qE '48[;:]2[;:]+68[;:]68[;:]68'
    result $? "direct colours are the palette's" "$(pane capture-pane -e -p -t t | head -1 | cat -v)"
fi
start 80 24 LC_ALL=C.UTF-8 TERM=dumb; await '^EXIT 2' && grep -q '"dumb"' "$here/stderr"
result $? "a dumb terminal is told so" "$(cat "$here/stderr")"

start 80 24 -u TERM LC_ALL=C.UTF-8; await '^EXIT 2' && grep -q 'set TERM' "$here/stderr"
result $? "without TERM: told so" "$(cat "$here/stderr")"

# Ctrl-Z and fg: the shell's terminal in between, the screens afterwards, also in another size.
terminal 80 24 "PS1='shell> ' LC_ALL=C.UTF-8 TERM=screen bash --norc --noprofile -i"
await '^shell>'; key "stty -a >'$here/before'; '$HPCTOP' '$trace'" Enter; await 'qQuit'; key 2; await 'RANK.*HOST'
key C-z; await 'Stopped' && key "stty -a >'$here/stopped'; echo in the 'she'll" Enter && await '^in the shell'
result $? "Ctrl-Z leads to the shell" "it does not"
[ "$(modes "$here/before")" = "$(modes "$here/stopped")" ] && [ "$(flags)" = 010 ]
result $? "stopped: the terminal is as it was" "it is not"
pane resize-window -t t -x 100 -y 30; key fg Enter; await 'RANK.*HOST'; result $? "fg shows the screen again" "it does not"
key 3; await 'CALLS.*p50.*p99' && await '^1Over.*qQuit'; result $? "keys work after fg" "they do not"
pane resize-window -t t -x 80 -y 24; key q; await '^shell> *$'; key "echo 'ba'ck" Enter; await '^back'
for _ in $(seq 150); do # tmux tells the terminal its size a little later
    key "stty -a >'$here/after'; mv '$here/after' '$here/now'" Enter
    sleep 0.2; cmp -s "$here/before" "$here/now" && break
done
cmp -s "$here/before" "$here/now"; result $? "q after fg restores the terminal" "$(diff "$here/before" "$here/now" | tr '\n' ' ')"

# Somebody truncates the files, overwrites one and removes the folder while they are looked at: told, in every view.
whole=$trace; trace=$here/spoilt; cp -r "$whole" "$trace"; trace=$(cd "$trace" && pwd)
start 80 24 LC_ALL=C.UTF-8; await 'CALL .*TIME'; key 6; await 'rank +00:'; key + + + + + + + +
for file in "$trace"/*.hpctop; do truncate -s 5000 "$file"; done
await 'truncated or overwritten since'; result $? "truncated files are told" "not told"
dd if=/dev/urandom of="$(ls "$trace"/*.hpctop | tail -1)" bs=64k count=4 conv=notrunc 2>/dev/null
for view in 2 3 4 5 6 7 8 1; do key "$view"; key + - Enter Escape; done
rm -rf "$trace"; key z; await 'truncated or overwritten since'; result $? "and it goes on" "gone"
key 2; await 'RANK.*HOST'; key q; restored "q after that"
trace=$whole

# A job that runs: it moves, freezes, moves again, and its end is seen.
[ -x "$WORKLOADS/stencil" ] && command -v mpirun >/dev/null || exit $bad
trace=$here/live
HPCTOP_DIR=$trace LD_PRELOAD=$LIBTRACE mpirun -n 4 "$WORKLOADS/stencil" 3000 >"$here/mpirun.out" 2>&1 &
job=$!
trap 'kill $job 2>/dev/null; pane kill-server; rm -rf "$here"' EXIT
for _ in $(seq 900); do [ "$(ls "$trace" 2>/dev/null | wc -l)" -ge 4 ] && break; sleep 0.1; done
[ -d "$trace" ] || { cat "$here/mpirun.out"; echo "not ok a running job: it did not start"; exit 1; }
clock() { pane capture-pane -p -t t | head -1 | grep -oE '[0-9]+:[0-9]+:[0-9]+'; }
moves() { # moves CLOCK: until the clock shows something else
    for _ in $(seq 600); do [ -n "$(clock)" ] && [ "$(clock)" != "$1" ] && return 0; sleep 0.1; done
    return 1
}
start 80 24 LC_ALL=C.UTF-8; await 'RUNNING'; result $? "a running job" "not marked as running"
await 'MPI_Allreduce'; result $? "its calls" "not shown"
moves "$(clock)"; result $? "its clock moves" "it stands"
key 2; await 'wait|run '; result $? "its ranks" "not shown"
key Space; await FROZEN; result $? "Space freezes it" "not frozen"
was=$(clock); sleep 2; [ "$(clock)" = "$was" ]; result $? "frozen: the clock stands" "it moves"
key Space; await RUNNING; moves "$was"; result $? "and goes on" "it stands"
key 6; key + + + +; await 'last [0-9]'; result $? "a window that follows" "not shown"
key z 1; rm -rf "$trace"; await 'warning: .*is gone'; result $? "its folder is removed: told" "not told"
moves "$(clock)"; result $? "and it is seen on" "it stands"
kill $job; wait $job 2>/dev/null
await 'FINISHED|ABORTED'; result $? "its end is seen" "still running"
key q; restored "q after its end"
exit $bad
