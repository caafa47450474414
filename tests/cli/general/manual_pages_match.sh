# The OPTIONS part of each manual page is what the option table says.
for command in report info analyze check query convert demo; do
    "$KINO" $command --help-man >options
    sed -n '/^# OPTIONS$/,/^# EXAMPLES$/p' "$ROOT/docs/man/kino-$command.md" | sed '$d' >page
    { cat options; echo; } | diff - page
done
