"$KINO" frobnicate
