for words in "" "x.json --fail-on nonsense" "x.json --fail-on loss," "x.json --fail-on" "missing.json --fail-on loss"; do
    code=0
    # shellcheck disable=SC2086
    "$KINO" check $words || code=$?
    echo "$code"
done
