# The same seed and options: the same bytes. Another seed: others.
"$KINO" demo a --ranks 2 --steps 2 --no-info --quiet
"$KINO" demo b --ranks 2 --steps 2 --no-info --quiet
"$KINO" demo c --ranks 2 --steps 2 --no-info --quiet --seed 2
ls a
diff -r a b
cmp -s a/rank-0.json c/rank-0.json || echo differ
