"$KINO" --verison
