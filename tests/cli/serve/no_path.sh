# Something must be served.
"$KINO" serve
