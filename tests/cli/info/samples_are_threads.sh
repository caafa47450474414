# Threads of process 5: 11 (samples, off-CPU), 12 (off-CPU), 13 (an operator, samples); of process 6: 11. No more.
"$KINO" info --format csv "$ROOT/tests/data/cli/samples.json" | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    print(row["threads"], row["streams"])'
