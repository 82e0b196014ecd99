#!/bin/bash
# The rooms: who may include what.  trace sees libc only; interpose sees of trace only the format and writer headers;
# tui sees trace, and one file of it sees curses; workloads see MPI and libc.
cd "$TOP" || exit 1
bad=0
forbid() { # forbid WHAT PATTERN FILE..: no #include in FILE may match PATTERN
    local what=$1 pattern=$2 hits
    shift 2
    [ $# -gt 0 ] || return 0
    hits=$(grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($pattern)" "$@" /dev/null) || return 0
    echo "$what:"
    echo "$hits" | sed 's/^/  /'
    bad=1
}
files() { find "$1" -name '*.[ch]' -o -name '*.def' | sort; }

foreign='mpi\.h|mpi-ext\.h|cuda|nccl|cupti|curses|ncurses|panel\.h|menu\.h|form\.h|cjson|cJSON|elfutils|libunwind'
forbid "trace may see libc only" "$foreign|interpose/|tui/|workloads/" $(files trace)
forbid "interpose must not see tui, curses, or an MPI header" "tui/|workloads/|mpi\.h|mpi-ext\.h|curses|ncurses|cjson|cJSON" $(files interpose)
forbid "tui must not see interpose or MPI" "interpose/|workloads/|mpi\.h|mpi-ext\.h|cuda|nccl|cupti" $(files tui)
forbid "workloads see nothing of ours" "trace/|interpose/|tui/|tests/" $(files workloads)

# Of trace, interpose may see the format and what writes it, nothing that reads or analyses.
allowed='format/|writer/'
hits=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"trace/' $(files interpose) /dev/null | grep -vE "\"trace/($allowed)")
[ -z "$hits" ] || { echo "interpose may see of trace only the format and writer headers:"; echo "$hits" | sed 's/^/  /'; bad=1; }

hits=$(grep -lE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"](ncursesw?/)?(curses|ncurses|panel|term)\.h' $(files tui) /dev/null)
[ "$(echo "$hits" | grep -c .)" -le 1 ] || { echo "more than one file of tui sees curses:"; echo "$hits" | sed 's/^/  /'; bad=1; }
exit $bad
