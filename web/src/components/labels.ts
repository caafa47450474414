// Short labels that differ: of long names that begin and end alike, what is between is shown.
import { shorten } from '../format';
import { readable } from './readable';

function commonStart(names: readonly string[]): number {
  let at = 0;
  while (names.every((name) => at < name.length && name[at] === names[0]![at])) at++;
  return at;
}

/** Room for what is alike, so that the name can still be recognized. */
const HEAD = 8;

export function labelsOf(names: readonly string[], width: number): string[] {
  const texts = names.map(readable);
  const short = texts.map((text) => shorten(text, width));
  const groups = new Map<string, number[]>();
  // what shows of a label is mostly its beginning
  short.forEach((text, i) => {
    const key = text.slice(0, Math.ceil(width / 2));
    groups.set(key, [...(groups.get(key) ?? []), i]);
  });
  for (const same of groups.values()) {
    if (same.length < 2) continue;
    const whole = same.map((i) => (texts[i] === texts[same[0]!] ? names[i]! : texts[i]!));
    const start = commonStart(whole);
    if (start <= HEAD) continue;
    same.forEach(
      (i, n) => (short[i] = shorten(`${whole[n]!.slice(0, HEAD)}…${whole[n]!.slice(start)}`, width)),
    );
  }
  return short;
}
