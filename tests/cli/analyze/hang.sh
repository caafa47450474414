# Flight-recorder dumps of two ranks: one never issued the collective, nor the receive, that the other waits for.
"$KINO" analyze hang "$ROOT/tests/data/flight_recorder"
