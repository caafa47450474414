// What only an entry of the browser's history knows of its page: how far it was scrolled, which rows were open. Going back
// to the entry finds it again; a page opened anew starts afresh.
type Values = Map<string, unknown>;

const entries = new Map<number, Values>();
let current = 0;
let last = 0;
let target = 0;

/** The number that the entry at hand carries; a new entry gets the next one. */
function enter(): boolean {
  const known = (history.state as { entry?: number } | null)?.entry;
  const isKnown = known !== undefined && entries.has(known);
  current = isKnown ? known : ++last;
  if (!isKnown) {
    entries.set(current, new Map());
    history.replaceState({ entry: current }, '');
  }
  target = recall('main', 0);
  return isKnown;
}

export function keep(key: string, value: unknown): void {
  entries.get(current)?.set(key, value);
}

export function recall<T>(key: string, otherwise: T): T {
  return (entries.get(current)?.get(key) as T | undefined) ?? otherwise;
}

/** Content comes bit by bit: the place is taken again until it is reached, or somebody scrolls by hand. */
function returnTo(box: HTMLElement): () => void {
  const go = () => {
    if (target > 0) box.scrollTop = target;
    if (box.scrollTop >= target - 1) stop();
  };
  const observer = new ResizeObserver(go);
  const stop = () => {
    target = 0;
    observer.disconnect();
  };
  for (const child of box.children) observer.observe(child);
  const watch = new MutationObserver(() => {
    for (const child of box.children) observer.observe(child);
    go();
  });
  watch.observe(box, { childList: true, subtree: true });
  const byHand = ['wheel', 'pointerdown', 'keydown'] as const;
  for (const name of byHand) box.addEventListener(name, stop, { once: true });
  return () => watch.disconnect();
}

/** Follows the history; called once, before anything reads the address. */
export function startKept(): void {
  enter();
  let undo: (() => void) | null = null;
  addEventListener('hashchange', () => {
    const isKnown = enter();
    undo?.();
    undo = null;
    const box = document.getElementById('content');
    if (!box) return;
    if (isKnown && target > 0) undo = returnTo(box);
    else if (!isKnown) box.scrollTop = 0;
  });
  addEventListener(
    'scroll',
    (event) => {
      if ((event.target as HTMLElement).id === 'content' && target === 0)
        keep('main', (event.target as HTMLElement).scrollTop);
    },
    { capture: true, passive: true },
  );
}
