# Nobody writes to it: an error at once, not a wait for ever.
mkfifo pipe
timeout 20 "$KINO" info pipe
