"""The version of HTA whose interface this is."""
__version_tuple__ = (0, 6, 1)
__version__ = ".".join(map(str, __version_tuple__))
