# What is served is read again and again.
"$KINO" serve -
