[ "$(id -u)" -ne 0 ] || { echo "root may read everything" >&2; exit 77; }
cp "$ROOT/tests/data/cli/small.json" x.json
chmod 000 x.json
"$KINO" info x.json
