# Settings from everywhere, and what makes none.
export XDG_RUNTIME_DIR= KINETO_IPC_SOCKET_DIR= HOME="$PWD"
printf 'log-level = debug\nport = none  # no TCP\nsocket = /run/x/d.sock\n' >file
KINO_DAEMON_SILENCE=90.5 "$KINO" daemon --config file --abstract no --socket-dir /run/x --show-settings
printf 'log-level = info\nlog-levle = debug\n' >file
"$KINO" daemon --config file || echo "exit $?"
"$KINO" daemon --config nothing || echo "exit $?"
"$KINO" daemon --silence 5 || echo "exit $?"
"$KINO" daemon --port all || echo "exit $?"
"$KINO" daemon now || echo "exit $?"
