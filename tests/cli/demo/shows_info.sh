"$KINO" demo --ranks 1 --steps 2 --format csv | cut -d, -f1-4
