"""The place of torch.autograd.profiler's interface: change `torch.autograd.profiler` to `kino.autograd.profiler` in the import."""
