"""XPlane files, made by hand."""
from .protobuf import data, real, uint


class Plane:
    def __init__(self, name):
        self.name, self.lines, self.names, self.stats, self.own = name, [], {}, {}, []

    def stat(self, key, value):
        number = self.stats.setdefault(key, len(self.stats) + 1)
        head = uint(1, number)
        if isinstance(value, float):
            return head + real(2, value)
        if isinstance(value, str):
            return head + uint(7, self.stats.setdefault(value, len(self.stats) + 1))
        return head + uint(4, value)

    def event(self, name, start_ps, duration_ps, **stats):
        number = self.names.setdefault(name, len(self.names) + 1)
        times = (uint(2, start_ps) if start_ps else b"") + (uint(3, duration_ps) if duration_ps else b"")
        return data(4, uint(1, number) + times + b"".join(data(4, self.stat(key, value)) for key, value in stats.items()))

    def line(self, number, name, start_ns, *events):
        self.lines.append(data(3, uint(1, number) + data(2, name) + uint(3, start_ns) + b"".join(events)))

    def bytes(self, constants=None):
        constants = constants or {}
        names = b"".join(data(4, uint(1, number) + data(2, uint(1, number) + data(2, name) + b"".join(
            data(5, self.stat(key, value)) for key, value in constants.get(name, {}).items()))) for name, number in self.names.items())
        own = b"".join(data(6, self.stat(key, value)) for key, value in self.own)
        stats = b"".join(data(5, uint(1, number) + data(2, uint(1, number) + data(2, key))) for key, number in self.stats.items())
        return data(1, data(2, self.name) + b"".join(self.lines) + names + own + stats)
