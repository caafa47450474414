// Listening to events so that it can be undone in one call.

export type Undo = () => void;

export function listen<K extends keyof HTMLElementEventMap>(
  on: HTMLElement | Window,
  type: K,
  f: (e: HTMLElementEventMap[K]) => void,
  options?: AddEventListenerOptions,
): Undo {
  on.addEventListener(type, f as EventListener, options);
  return () => on.removeEventListener(type, f as EventListener, options);
}

export const all =
  (undo: Undo[]): Undo =>
  () =>
    undo.forEach((u) => u());
