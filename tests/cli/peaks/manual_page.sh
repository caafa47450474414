# The OPTIONS part of the manual page is what the option table says.
"$KINO" peaks --help-man >options
sed -n '/^# OPTIONS$/,/^# EXAMPLES$/p' "$ROOT/docs/man/kino-peaks.md" | sed '$d' >page
{ cat options; echo; } | diff - page
