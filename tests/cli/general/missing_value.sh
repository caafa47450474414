"$KINO" info x.json --rank
