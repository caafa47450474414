"$KINO" qurey x.json
