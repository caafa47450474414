"""What HTA keeps in hta.utils: kinds and names of kernels."""
