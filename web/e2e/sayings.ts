// What a page says, read as people read it: the tiles, tables, bars (by the text beside the mouse), notes and
// findings. Texts, never numbers of the program behind them.
import type { Locator, Page } from 'playwright-core';
import { frameOf, visibleRows } from './support';

export type Texts = Record<string, string>;

/** The tiles at the top, by name. */
export const figures = async (page: Page): Promise<Texts> =>
  Object.fromEntries(
    await page
      .locator('.figure')
      .evaluateAll((all) =>
        all.map((f) => [
          f.querySelector('.figure-name')!.textContent!,
          f.querySelector('.figure-value')!.textContent!,
        ]),
      ),
  ) as Texts;

export const panel = (page: Page, title: string): Locator =>
  page.locator(`section.panel[aria-label="${title}"]`);

export const panels = (page: Page): Promise<string[]> => page.locator('section.panel h2').allInnerTexts();

/** Bars of a panel: of each category its parts, and `total`. */
export async function bars(page: Page, title: string, chart = 0): Promise<Record<string, Texts>> {
  const tips = await panel(page, title)
    .locator('figure.chart')
    .nth(chart)
    .locator('rect[data-tip]')
    .evaluateAll((all) => all.map((r) => r.getAttribute('data-tip')!));
  const found: Record<string, Texts> = {};
  for (const tip of tips) {
    const [category, ...lines] = tip.split('\n');
    for (const line of lines) {
      const at = line.lastIndexOf(': ');
      (found[category!] ??= {})[line.slice(0, at)] = line.slice(at + 2).split(' · ')[0]!;
    }
  }
  for (const of of Object.values(found)) {
    const all = Object.values(of);
    of.total ??= all.length === 1 ? all[0]! : '';
  }
  return found;
}

/** Cells of a map of ranks and steps: "rank 0 · step 7" -> "12 ms". */
export const cells = async (page: Page, title: string): Promise<Texts> =>
  Object.fromEntries(
    await panel(page, title)
      .locator('rect[data-cell]')
      .evaluateAll((all) =>
        all.map((r) =>
          r
            .getAttribute('data-tip')!
            .replace(/^rank (?=rank|no rank)/, '')
            .trim()
            .split('\n'),
        ),
      ),
  ) as Texts;

/** Rows of a small table by their first cells. */
export const parts = async (page: Page): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    await page.locator('table.summary tbody tr').evaluateAll((all) =>
      all.map((row) => {
        const [name, ...rest] = [...row.children].map((c) => c.textContent!.trim());
        return [name!, rest];
      }),
    ),
  ) as Record<string, string[]>;

export const notes = (page: Page): Promise<string[]> => page.locator('main ul.notes li').allInnerTexts();

export interface FindingText {
  title: string;
  gain: string;
  seen: string;
}

export const findings = (page: Page): Promise<FindingText[]> =>
  page.locator('.finding').evaluateAll((all) =>
    all.map((f) => ({
      title: f.querySelector('h3')!.textContent!,
      gain: f.querySelector('.finding-gain')!.textContent!,
      seen: f.querySelector('p')!.textContent!,
    })),
  );

/** The cards of the devices: [device, utilisation]. */
export const devices = (page: Page): Promise<string[][]> =>
  page
    .locator('.gpu')
    .evaluateAll((all) =>
      all.map((g) => [
        g.querySelector('h3')!.textContent!.trim(),
        g.querySelector('.meter-value')?.textContent ?? 'not available',
      ]),
    );

/** A table that is shown whole, by the heads; empty when it is not there. */
export async function table(page: Page, label: string): Promise<Texts[]> {
  return (await frameOf(page, label).count()) > 0 ? visibleRows(page, label) : [];
}

/** Keeps what is written on canvases, as the names in the header of the timeline are. */
export const listenToCanvas = (page: Page): Promise<unknown> =>
  page.addInitScript(() => {
    const texts = ((window as unknown as { written: string[] }).written = [] as string[]);
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text: string, ...rest: [number, number]) {
      texts.push(text);
      draw.call(this, text, ...rest);
    };
  });

export const written = (page: Page): Promise<string[]> =>
  page.evaluate(() => [...new Set((window as unknown as { written: string[] }).written)]);
