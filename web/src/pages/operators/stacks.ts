// Call stacks as the profiler writes them: frames "file(line): function", innermost first, parted by ';'.
export interface Frame {
  text: string;
  /** parts of the text, where it has them */
  file: string | null;
  line: number | null;
  name: string | null;
}

export function framesOf(stack: string): Frame[] {
  return stack
    .split(';')
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const match = /^(.*)\((\d+)\):\s*(.*)$/.exec(text);
      if (!match) return { text, file: null, line: null, name: null };
      return { text, file: match[1]!, line: Number(match[2]), name: match[3]! };
    });
}
