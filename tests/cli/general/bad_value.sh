"$KINO" info --format yaml x.json
