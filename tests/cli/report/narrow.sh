# Nothing is wider than the terminal: long names lose their middle, columns that do not fit are named.
cp "$ROOT/tests/data/cli/report.json" t.json
"$KINO" report t.json --width 46 --quiet | sed '/^What to do/,/^$/d' | sed -n '/^Step time/,$p'
"$KINO" demo d --ranks 2 --steps 2 --no-info --quiet
for width in 60 72 80 100 140; do
    "$KINO" report d --width $width --full --quiet |
        python3 -c 'import sys; w = int(sys.argv[1]); print(w, [line for line in sys.stdin.read().splitlines() if len(line) > w])' $width
done
