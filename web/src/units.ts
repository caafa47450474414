// Made by tools/make-web-units from src/render/units.def and src/base/byte_size.def: the units of the terminal.
export const durationUnits = [
  { name: 'µs', ns: 1_000, below: 999_950 },
  { name: 'ms', ns: 1_000_000, below: 999_950_000 },
  { name: 's', ns: 1_000_000_000, below: 60_000_000_000 },
] as const;
export const byteUnits = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;
