# A token must fit into an address and a cookie.
"$KINO" serve . --token 'two words'
