for words in "--ranks 0" "a b" "--compress bz2"; do
    code=0
    # shellcheck disable=SC2086
    "$KINO" demo $words || code=$?
    echo "$code"
done
ls
