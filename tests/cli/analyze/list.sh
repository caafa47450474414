# All analyses with one line each, also for programs; no trace is needed.
"$KINO" analyze --list | head -2 | sed 's/  */ /g'
"$KINO" analyze --list | grep -c '^  completeness  '
"$KINO" analyze --list --format csv | grep '^completeness,'
