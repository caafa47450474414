# The OPTIONS part of the manual page is what the option table says, and it names every item that this machine shows.
"$KINO" doctor --help-man >options
sed -n '/^# OPTIONS$/,/^# EXAMPLES$/p' "$ROOT/docs/man/kino-doctor.md" | sed '$d' >page
{ cat options; echo; } | diff - page
"$KINO" doctor --format csv | tail -n +2 | cut -d, -f2 | sort -u >items
[ -s items ]
while read -r item; do
    grep -q "\*\*$item\*\*" "$ROOT/docs/man/kino-doctor.md" || echo "not in the manual: $item"
done <items
