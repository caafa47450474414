// Hands the visible window to Perfetto: its page is opened, asked until it answers ("PING", "PONG"), and then
// given the trace. The trace goes from this page to that one inside the browser; nothing is sent to a server.
import { getBinary } from '../api';
import type { Range } from './view';

export const PERFETTO = 'https://ui.perfetto.dev';

const ASK_MS = 100;
const GIVE_UP_MS = 30000;

export interface Opened {
  postMessage: (message: unknown, origin: string, transfer?: Transferable[]) => void;
  readonly closed: boolean;
}

/** Waits until the page there answers. */
export function waitForPong(
  other: Opened,
  listen: (f: (e: MessageEvent) => void) => () => void,
  askMs = ASK_MS,
  giveUpMs = GIVE_UP_MS,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const started = Date.now();
    const stop = listen((e) => {
      if (e.origin !== PERFETTO || e.data !== 'PONG') return;
      done();
      resolve();
    });
    const timer = setInterval(() => {
      if (other.closed || Date.now() - started > giveUpMs) {
        done();
        reject(
          new Error(
            other.closed
              ? 'the window was closed'
              : `${PERFETTO} did not respond; is there a network connection?`,
          ),
        );
      } else other.postMessage('PING', PERFETTO);
    }, askMs);
    const done = (): void => {
      clearInterval(timer);
      stop();
    };
  });
}

export function windowParams(range: Range): { from: number; to: number } {
  return { from: Math.floor(range.from), to: Math.ceil(range.to) };
}

export async function openInPerfetto(range: Range, title: string): Promise<void> {
  // opened at once, in the click itself: later the browser would call it a pop-up
  const other = window.open(PERFETTO);
  if (!other)
    throw new Error(
      'The browser blocked the new window: allow pop-ups for this page, ' +
        `or download the window and open it on ${PERFETTO}.`,
    );
  const trace = getBinary('trace.json.gz', windowParams(range));
  const ready = waitForPong(other, (f) => {
    window.addEventListener('message', f);
    return () => window.removeEventListener('message', f);
  });
  const [buffer] = await Promise.all([trace, ready]);
  other.postMessage({ perfetto: { buffer, title, fileName: 'kino-window.json.gz' } }, PERFETTO, [buffer]);
}
