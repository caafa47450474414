"$KINO" demo --ranks 1 --steps 2 --format md | sed -n '1p; /^- \*\*/p; /^## /p'
