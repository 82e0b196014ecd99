#!/bin/bash
# The manual page: made of the tables, so all of them are in it, and roff that has nothing to complain about.
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; fi; }
"$HPCTOP" help man >page.1; result $? "help man" "exit status"
for word in NO_COLOR report dump Overview Timeline WAITING 'EXIT STATUS'; do
    grep -q -- "$word" page.1; result $? "the page has $word" "it has not"
done
"$HPCTOP" help libtrace >page.7; result $? "help libtrace" "exit status"
for word in HPCTOP_DIR HPCTOP_LIMIT EXAMPLES; do
    grep -q -- "$word" page.7; result $? "the page of libtrace has $word" "it has not"
done
for topic in keys views environment; do
    "$HPCTOP" help $topic >$topic.txt && ! LC_ALL=C grep -q $'\e' $topic.txt; result $? "help $topic" "failed, or escapes in it"
    [ "$(LC_ALL=C "$HPCTOP" help $topic | LC_ALL=C grep -c '[^ -~]')" = 0 ]; result $? "help $topic in the C locale" "not ASCII"
done
while read -r key; do
    grep -qF -- "$key" keys.txt; result $? "help keys has $key" "it has not"
done <<'KEYS'
q F10
? F1
Esc Backspace
KEYS
if command -v groff >/dev/null; then
    groff -man -ww -Kutf8 -Tutf8 page.1 page.7 2>complaints >/dev/null && [ ! -s complaints ]
    result $? "groff has nothing to complain about" "$(head -3 complaints)"
fi
exit $bad
