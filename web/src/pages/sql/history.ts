// Statements that were run, newest first, kept in the browser.
import { signal } from '@preact/signals';

const place = 'kino.sql.history';
const most = 50;

function read(): string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(place) ?? '[]');
    return Array.isArray(list) ? list.filter((s): s is string => typeof s === 'string') : [];
  } catch {
    return [];
  }
}

export const history = signal<readonly string[]>(read());

export function remember(sql: string): void {
  const text = sql.trim();
  if (!text) return;
  history.value = [text, ...history.value.filter((s) => s !== text)].slice(0, most);
  try {
    localStorage.setItem(place, JSON.stringify(history.value));
  } catch {
    // a browser that keeps nothing: the list lasts until the page goes
  }
}

export function forgetHistory(): void {
  history.value = [];
  try {
    localStorage.removeItem(place);
  } catch {
    // nothing was kept
  }
}
