"""What later versions of HTA call Trace."""
from .trace import TraceCollection

__all__ = ["TraceCollection"]
