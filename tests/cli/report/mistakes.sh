for words in "" "t.json --steps x" "t.json --format csv" "t.json --compat hta" "nowhere.json"; do
    code=0
    # shellcheck disable=SC2086
    "$KINO" report $words || code=$?
    echo "$code"
done
