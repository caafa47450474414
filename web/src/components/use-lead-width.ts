// How wide the column of the names is, which stays at the left: the column that sorts stays beside it.
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export function useLeadWidth(box: RefObject<HTMLElement | null>, inputs: readonly unknown[]): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const head = box.current?.querySelector<HTMLElement>('.table-head .cell-lead');
    if (!head) return;
    const read = () => setWidth(head.offsetWidth);
    read();
    const observer = new ResizeObserver(read);
    observer.observe(head);
    return () => observer.disconnect();
  }, inputs as unknown[]);
  return width;
}
