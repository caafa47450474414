# A planted run: the same bytes twice, the truth only on request, and every mistake said.
"$KINO" demo one --plant device-straggler --seed 7 --truth one.json --no-info --quiet
"$KINO" demo two --plant device-straggler --seed 7 --truth two.json --no-info --quiet
diff -r one two
cmp one.json two.json
"$KINO" demo three --plant clean --seed 2 --ranks 3 --steps 4 --no-info
ls -A three
for words in "--plant no-such-kind" "--plant clean --ranks 65" "--truth x.json" "--plant clean --strength 20000"; do
    code=0
    # shellcheck disable=SC2086
    "$KINO" demo four $words --no-info || code=$?
    echo "$code"
done
