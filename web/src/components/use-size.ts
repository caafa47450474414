// The size of an element, kept up to date: charts draw to fit.
import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

export function useSize(
  ref: RefObject<HTMLElement | null>,
  start = { width: 0, height: 0 },
): { width: number; height: number } {
  const [size, setSize] = useState(start);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const read = () => {
      const width = Math.floor(element.clientWidth);
      const height = Math.floor(element.clientHeight);
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    read();
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}

let context: CanvasRenderingContext2D | null = null;
const widths = new Map<string, number>();

/** How wide a text is in the page's font at so many pixels: charts leave room for their labels. */
export function textWidth(text: string, size: number): number {
  const key = `${size} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  context ??= document.createElement('canvas').getContext('2d');
  if (context) context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  const width = context?.measureText(text).width ?? text.length * size * 0.55;
  if (widths.size > 5000) widths.clear();
  widths.set(key, width);
  return width;
}

/** How wide a digit is in tables: columns are made from it. */
export const digitWidth = (): number => textWidth('0', 13) || 7.5;
