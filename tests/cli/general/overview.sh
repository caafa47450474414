# kino alone, kino help and kino --help are the same.
"$KINO"
"$KINO" help | cmp - <("$KINO")
"$KINO" --help | cmp - <("$KINO")
