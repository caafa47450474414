# One file of a folder is no trace: it is named, the others are reported.
"$KINO" demo d --ranks 3 --steps 2 --no-info --quiet
echo 'not a trace' >d/rank-1.json
"$KINO" report d --width 100 | sed -n '2,5p' | grep -E 'Ranks|rank-1'
"$KINO" report d --format html --quiet | grep 'class="note"'
"$KINO" report d --format json --quiet | python3 -c 'import json, sys; print(json.load(sys.stdin)["report"]["notes"])'
