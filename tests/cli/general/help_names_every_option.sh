# Every option of the manual page is in --help, but for the one for measurements.
for command in info analyze check query convert demo; do
    "$KINO" $command --help-man | sed -n 's/^\*\*\\-\\-\([a-z-]*\)\*\*.*/\1/p' | grep -v '^simd$' | sort >manual
    "$KINO" help $command | sed -n 's/^  --\([a-z-]*\).*/\1/p' | sort >shown
    cmp manual shown
    [ -s manual ]
done
