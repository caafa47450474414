"""What HTA keeps in hta.analyzers: the analyses as functions of a Trace."""
