"""What HTA keeps in hta.common: traces, symbols, filters, call stacks."""
