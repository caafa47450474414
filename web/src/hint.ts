// What can be done about an error or a note: the server says it in fields beside the text (docs/formats/http.md). The fields
// are kept by their text from the moment an answer arrives, so that texts can go through the program as they are.

/** As include/kino/base.h has them. */
export enum HintCode {
  Option = 'option',
  Unset = 'unset',
  Parameter = 'parameter',
  Lacks = 'lacks',
  Recorded = 'recorded',
}

export interface Hint {
  code: HintCode;
  subject: string;
  value: string;
  /** where the text names it, in bytes of UTF-8; size 0: nowhere */
  at: number;
  size: number;
}

const hints = new Map<string, Hint>();

export function keepHint(text: string, hint: Hint | undefined): void {
  if (hint) hints.set(text, hint);
}

interface Answer {
  input?: { notes?: string[]; hints?: (Hint & { note: number })[] };
}

/** Keeps the hints of a result's notes. */
export function keepHints<T>(answer: T): T {
  const input = (answer as Answer | null)?.input;
  for (const hint of input?.hints ?? []) keepHint(input?.notes?.[hint.note] ?? '', hint);
  return answer;
}

export interface Said {
  before: string;
  /** the control to put between; null: `before` is all */
  hint: Hint | null;
  /** what the text calls it */
  words: string;
  after: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A text around the control that it names. */
export function saidOf(text: string): Said {
  const hint = hints.get(text);
  if (!hint?.size) return { before: text, hint: null, words: '', after: '' };
  const bytes = encoder.encode(text);
  const part = (from: number, to?: number) => decoder.decode(bytes.subarray(from, to));
  const end = hint.at + hint.size;
  return { before: part(0, hint.at), hint, words: part(hint.at, end), after: part(end) };
}
