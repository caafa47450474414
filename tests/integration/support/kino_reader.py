"""A second reader of .kino files, in plain Python, sharing no code with the one in C: where this, docs/formats/kino.md and
the program disagree, one of the three is wrong. Slow and strict: damage is an error. Also puts files together from chunks,
for tests of odd files."""
import decimal
import json
import shutil
import struct
import subprocess

HEAD = b"\x8bKINO\r\n\x1a"
INDEX, METADATA, STRINGS, TRACKS, COLUMN, ARGS, ARG_TEXTS, ARG_COLUMN, ODD, ODD_TEXTS = range(1, 11)
TS, DUR, NAME, CATEGORY, PHASE, FLAGS, NUMBER, BIND, EXTERNAL = range(1, 10)
NO_STRING, WIDE, MANY, NO_INT = 0xffffffff, 0xfffffffe, 0xfffe, -(1 << 63)
INT, OWN_BIND, OWN_EXTERNAL, DECIMAL, TEXT = range(5)
WITH_ID = "stfben"


class Damaged(Exception):
    pass


def require(held, what):
    if not held:
        raise Damaged(what)


def has_zstd():
    return shutil.which("zstd") is not None


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def crc32c(data):
    crc, table = 0xffffffff, TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


# ---- the container

class Chunk:
    def __init__(self, kind, tag, group, payload, codec=0, raw_size=None, owner=0):
        self.kind, self.codec, self.tag, self.group, self.owner = kind, codec, tag, group, owner
        self.payload = payload  # as in the file
        self.raw_size = len(payload) if raw_size is None else raw_size
        self.raw = payload if codec == 0 else None

    def header(self):
        head = b"Kchk" + struct.pack("<BBHIIIII", self.kind, self.codec, self.tag, self.group, len(self.payload), self.raw_size,
                                     crc32c(self.payload), self.owner)
        return head + struct.pack("<I", crc32c(head))


def read_chunk(data, offset):
    head = data[offset:offset + 32]
    require(len(head) == 32 and head[:4] == b"Kchk" and crc32c(head[:28]) == struct.unpack_from("<I", head, 28)[0],
            f"header at {offset}")
    kind, codec, tag, group, size, raw_size, checksum, owner = struct.unpack_from("<BBHIIIII", head, 4)
    payload = data[offset + 32:offset + 32 + size]
    require(len(payload) == size and crc32c(payload) == checksum, f"payload at {offset}")
    return Chunk(kind, tag, group, payload, codec, raw_size, owner)


def decompress(chunks):
    """All at once: zstd frames one behind the other give their contents one behind the other."""
    packed = [chunk for chunk in chunks if chunk.codec == 1]
    if not packed:
        return
    done = subprocess.run(["zstd", "-dcq"], input=b"".join(chunk.payload for chunk in packed), capture_output=True, check=True)
    at = 0
    for chunk in packed:
        chunk.raw = done.stdout[at:at + chunk.raw_size]
        at += chunk.raw_size
    require(at == len(done.stdout), "sizes of decoded chunks")


def read_chunks(data):
    """The chunks by the index, which must be those that stand one behind the other."""
    major, minor, checksum = struct.unpack_from("<HHI", data, 8)
    require(data[:8] == HEAD and checksum == crc32c(data[:12]) and (major, minor) == (1, 0), "head")
    index_at, magic, checksum = struct.unpack_from("<Q4sI", data, len(data) - 16)
    require(magic == b"Kend" and checksum == crc32c(data[-16:-4]), "end")
    index = read_chunk(data, index_at)
    require(index.kind == INDEX and len(index.payload) % 36 == 0, "index")
    chunks, next_at = [], 16
    for at in range(0, len(index.payload), 36):
        offset = struct.unpack_from("<Q", index.payload, at)[0]
        require(offset == next_at and data[offset + 4:offset + 32] == index.payload[at + 8:at + 36], "index entry")
        chunks.append(read_chunk(data, offset))
        size = len(chunks[-1].payload)
        require(not any(data[offset + 32 + size:offset + 32 + size + -size % 8]), "padding")
        next_at = offset + 32 + size + -size % 8
    require(next_at == index_at, "chunks that the index lacks")
    decompress(chunks)
    return chunks


def write_chunks(chunks, major=1, minor=0):
    """A file of these chunks."""
    head = HEAD + struct.pack("<HH", major, minor)
    out = bytearray(head + struct.pack("<I", crc32c(head)))
    entries = b""

    def add(chunk):
        header = chunk.header()
        out.extend(header + chunk.payload + bytes(-len(chunk.payload) % 8))
        return header

    for chunk in chunks:
        offset = len(out)
        entries += struct.pack("<Q", offset) + add(chunk)[4:]
    end = struct.pack("<Q4s", len(out), b"Kend")
    add(Chunk(INDEX, 0, 0, entries))
    return bytes(out) + end + struct.pack("<I", crc32c(end))


def without_compression(chunks):
    return [Chunk(chunk.kind, chunk.tag, chunk.group, chunk.raw) for chunk in chunks]


# ---- payloads

class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        require(size <= len(self.data) - self.at, "payload too short")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def text(self):
        return self.take(self.number(4))

    def list(self, count):
        return decode_column(self.text(), count)

    def rest(self):
        return self.take(len(self.data) - self.at)


def signed(value):
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def decode_column(data, count):
    """The values; None where one is missing."""
    bytes_ = Bytes(data)
    method, width, has_missing, _, dense, base, exceptions, table_size = struct.unpack("<BBBBIQII", bytes_.take(24))
    bitmap = bytes_.take((count + 7) // 8) if has_missing else None
    stored = [0] * dense
    for plane in range(width):
        stored = [value | byte << 8 * plane for value, byte in zip(stored, bytes_.take(dense))]
    for _ in range(exceptions):
        place = bytes_.number(4)
        stored[place] = bytes_.number(8)
    table = [bytes_.number(8) for _ in range(table_size)]
    require(not bytes_.rest(), "bytes behind a column")
    if method == 0:
        values = [signed(value + base) for value in stored]
    elif method == 1:
        values = []
        for value in stored:
            base += value >> 1 ^ -(value & 1)
            values.append(signed(base))
    else:
        values = [signed(table[value]) for value in stored]
    if not has_missing:
        require(dense == count, "number of values")
        return values
    dense_values = iter(values)
    out = [next(dense_values) if bitmap[i // 8] >> i % 8 & 1 else None for i in range(count)]
    require(next(dense_values, None) is None, "values that are nowhere")
    return out


def split_texts(sizes, data):
    out, at = [], 0
    for size in sizes:
        out.append(data[at:at + size])
        at += size
    require(at == len(data), "bytes of texts")
    return out


NUMBER_FIELDS = ["", "event_count", "number_count", "row_group", "arg_group", "origin_ns", "base_ns", "is_epoch", "is_array",
                 "pair_count", "text_bytes", "rank", "world_size", "string_count", "track_count", "odd_count"]
TEXT_FIELDS = {32: "worker", 33: "span", 34: "host", 35: "source_format"}


class KinoFile:
    """What a file says: metadata, strings, tracks, and events as dictionaries."""

    def __init__(self, data):
        self.chunks = read_chunks(data)
        self.keys, self.categories, self.damages = [], [], {}
        self.read_metadata()
        self.strings = []
        for chunk in self.of_kind(STRINGS):
            bytes_ = Bytes(chunk.raw)
            first, count = bytes_.number(4), bytes_.number(4)
            require(first == len(self.strings), "strings in order")
            sizes = bytes_.list(count)
            self.strings += [text.decode() for text in split_texts(sizes, bytes_.rest())]
        require(len(self.strings) == self.string_count, "all strings")
        self.read_tracks()
        self.read_columns()
        self.read_odd()
        self.args = [None] * self.number_count
        for group in range(-(-self.number_count // self.arg_group)):
            self.read_args(group)

    def of_kind(self, kind):
        return [chunk for chunk in self.chunks if chunk.kind == kind]

    def one(self, kind, group, tag=0):
        found = [chunk for chunk in self.chunks if (chunk.kind, chunk.group, chunk.tag) == (kind, group, tag)]
        require(len(found) == 1, f"one chunk of kind {kind}, group {group}, tag {tag}")
        return Bytes(found[0].raw)

    def string(self, number):
        return None if number in (None, NO_STRING) else self.strings[number]

    def read_metadata(self):
        bytes_ = self.one(METADATA, 0)
        self.rank = self.world_size = None
        while bytes_.at < len(bytes_.data):
            field, value = bytes_.number(2), Bytes(bytes_.text())
            if 0 < field < len(NUMBER_FIELDS):
                setattr(self, NUMBER_FIELDS[field], signed(value.number(8)))
            elif field in TEXT_FIELDS:
                setattr(self, TEXT_FIELDS[field], value.data.decode())
            elif field == 64:
                self.keys.append((value.text().decode(), value.text().decode()))
            elif field == 65:
                self.categories.append(value.data.decode())
            elif field == 66:
                name, count = value.text().decode(), value.number(8)
                self.damages[name] = (count, [value.number(8) for _ in range(min(count, 4))])

    def read_tracks(self):
        bytes_ = self.one(TRACKS, 0)
        count = bytes_.number(4)
        require(count == self.track_count, "number of tracks")
        members = [bytes_.list(count) for _ in range(15)]
        self.tracks = [dict(zip(["count", "pid_kind", "pid_text", "pid", "tid_kind", "tid_text", "tid", "kind", "kinds",
                                 "device", "stream", "name", "process_name", "labels", "sort_index"], track))
                       for track in zip(*members)]

    def read_columns(self):
        self.columns = {tag: [] for tag in range(TS, EXTERNAL + 1)}
        for group in range(-(-self.event_count // self.row_group)):
            count = min(self.row_group, self.event_count - group * self.row_group)
            for tag, column in self.columns.items():
                column += decode_column(self.one(COLUMN, group, tag).data, count)
        self.row_of = {number: row for row, number in enumerate(self.columns[NUMBER])}
        require(len(self.row_of) == self.event_count, "numbers differ")

    def read_odd(self):
        self.odd = {}
        for chunk in self.of_kind(ODD):
            bytes_, texts = Bytes(chunk.raw), self.one(ODD_TEXTS, chunk.group)
            count = bytes_.number(4)
            numbers, kinds, values = (bytes_.list(count) for _ in range(3))
            for number, kind, value in zip(numbers, kinds, values):
                self.odd[number, kind] = texts.take(value) if kind <= 1 else signed(value)
        require(len(self.odd) == self.odd_count, "all odd entries")

    def wide(self, tag, row):
        value = self.columns[tag][row]
        return self.odd[self.columns[NUMBER][row], 2 if tag == BIND else 3] if value == WIDE else value

    def read_args(self, group):
        description, bytes_ = self.one(ARGS, group), self.one(ARG_TEXTS, group)
        keys = [description.text() for _ in range(description.number(4))]
        columns = [(description.number(1), keys[description.number(4)], description.number(4))
                   for _ in range(description.number(4))]
        templates = []
        for _ in range(description.number(4)):
            slots, parts = description.number(4), []
            for _ in range(slots):
                parts += [description.text(), (description.number(1), description.number(4))]
            templates.append(parts + [description.text()])
        counts = [bytes_.number(4) for kind, _, _ in columns if kind == TEXT]
        texts = iter(split_texts(bytes_.list(sum(counts)), bytes_.rest()))
        values = []
        for i, (kind, _, count) in enumerate(columns):
            column = decode_column(self.one(ARG_COLUMN, group, 1 + 2 * i).data, count)
            if kind == DECIMAL:
                column = [decimal_text(*pair) for pair in
                          zip(column, decode_column(self.one(ARG_COLUMN, group, 2 + 2 * i).data, count))]
            elif kind == TEXT:
                own = [next(texts) for _ in range(counts.pop(0))]
                column = [own[value] for value in column]
            else:
                column = [b"%d" % value for value in column]
            values.append(iter(column))
        first = group * self.arg_group
        last = min(first + self.arg_group, self.number_count)
        template_of = decode_column(self.one(ARG_COLUMN, group, 0).data, last - first)
        for number, template in zip(range(first, last), template_of):
            if template is not None:
                self.args[number] = self.build(templates[template], values, self.row_of[number])
        require(all(next(column, None) is None for column in values), "values of arguments that no event has")

    def build(self, template, values, row):
        out = b""
        for part in template:
            if isinstance(part, bytes):
                out += part
            elif part[0] in (OWN_BIND, OWN_EXTERNAL):
                out += b"%d" % self.wide(BIND if part[0] == OWN_BIND else EXTERNAL, row)
            else:
                out += next(values[part[1]])
        return out

    def label(self, track, which, in_quotes):
        kind = track[f"{which}_kind"]
        if kind == 1:
            return str(track[which]) if in_quotes else track[which]
        text = self.string(track[f"{which}_text"]) if kind else None
        return json.loads(text, parse_float=decimal.Decimal) if kind == 3 else text

    def events(self):
        """Rows in order: what is absent is None; times in ns as the source counts them."""
        row = 0
        for track in self.tracks:
            for _ in range(track["count"]):
                yield self.event(track, row)
                row += 1
        require(row == self.event_count, "tracks cover all rows")

    def event(self, track, row):
        column = {tag: values[row] for tag, values in self.columns.items()}
        number, flags, phase = column[NUMBER], column[FLAGS], chr(column[PHASE])
        offset = self.origin_ns - self.base_ns
        category = column[CATEGORY]
        bind = self.wide(BIND, row)
        if flags & 16 and bind is not None:
            bind = self.strings[bind]
        return {"number": number, "ph": phase, "name": self.string(column[NAME]),
                "cat": None if category in (None, MANY) else self.categories[category],
                "ts": None if column[TS] is None else column[TS] + offset, "dur": column[DUR],
                "pid": self.label(track, "pid", flags & 64), "tid": self.label(track, "tid", flags & 128),
                "id": bind if phase in WITH_ID else None, "correlation": None if phase in WITH_ID else bind,
                "external": self.wide(EXTERNAL, row), "bp": bool(flags & 2), "s": " tpg"[flags >> 2 & 3].strip(),
                "is_pair": bool(flags & 32), "args": self.args[number], "text": self.odd.get((number, 0)),
                "end": self.odd.get((number, 1))}


def decimal_text(value, scale):
    digits = str(abs(value)).rjust(scale + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-scale]}.{digits[-scale:]}".encode()
