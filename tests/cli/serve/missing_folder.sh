# A path that is not there is an error at once.
"$KINO" serve nothing-here
