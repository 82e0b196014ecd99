#!/bin/bash
# tests/start sets what every MPI here wants to be told, and nothing else in tests, demo or Makefile sets it again.
bad=0
result() { if [ "$1" = 0 ]; then echo "ok $2"; else echo "not ok $2: $3"; bad=1; fi; }
names=$(env -i PATH="$PATH" "$TOP/tests/start" env | sed -n 's/=.*//p')
for name in OMPI_MCA_rmaps_base_oversubscribe 'PRTE_MCA_\(rmaps_default_mapping_policy\|mapby\)' OMPI_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT; do
    echo "$names" | grep -qx $name; result $? "sets $name" "not there"
done
cd "$TOP" || exit 1
others=$(grep -rlE --exclude='*.md' --exclude=start --exclude=start.sh \
    -e 'rmaps_base_oversubscribe|(rmaps_default_mapping_policy|_mapby) *=|--oversubscribe|ALLOW_RUN_AS_ROOT(_CONFIRM)?"?[=:]' Makefile tests)
[ -z "$others" ]; result $? "nobody else does" "$(echo $others)"
"$TOP/tests/start" sh -c 'exit 7'; [ $? = 7 ]; result $? "the exit status is the command's" "another"
exit $bad
