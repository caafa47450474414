# A result that cannot be written is a failure, not a short file.
[ -w /dev/full ] || { echo "no /dev/full" >&2; exit 77; }
"$KINO" info "$ROOT/tests/data/cli/small.json" >/dev/full
