"""What HTA keeps in hta.configs: which arguments of events become columns, environment variables."""
