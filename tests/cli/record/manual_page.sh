# The OPTIONS part of the manual page is what the option table says.
"$KINO" record --help-man >options
sed -n '/^# OPTIONS$/,/^# WHAT CANNOT BE RECORDED$/p' "$ROOT/docs/man/kino-record.md" | sed '$d' >page
{ cat options; echo; } | diff - page
[ -s page ]
