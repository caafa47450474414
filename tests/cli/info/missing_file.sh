"$KINO" info nothing.json
