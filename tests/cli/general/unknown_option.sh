"$KINO" info --fromat json x.json
