# Ports end at 65535.
"$KINO" serve . --port 65536
