# Of several spans the newest is taken, and that is said; --recording takes another.
mkdir run
sed 's/ProfilerStep#/ProfilerStep#1/' "$ROOT/tests/data/cli/report.json" >run/w.100.pt.trace.json
cp "$ROOT/tests/data/cli/report.json" run/w.200.pt.trace.json
"$KINO" report run --width 120 --quiet | sed -n '2,4p'
"$KINO" report run --width 120 --quiet --recording 1 | sed -n '2,4p'
