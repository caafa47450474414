// Every page in both colours and in all widths: nothing sticks out, nothing complains, and axe-core finds nothing
// serious.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { pages } from '../src/pages';
import { goTo, open, settled } from './support';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const sizes = [
  [1100, 700],
  [2560, 1440],
] as const;
interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: { target: string[]; failureSummary: string }[];
}

/** In the second colour only the colours are new. */
async function obstacles(page: Page, only?: string): Promise<string[]> {
  const violations = await page.evaluate(async (rule) => {
    const run = (window as unknown as { axe: { run: (o: object) => Promise<{ violations: Violation[] }> } })
      .axe.run;
    return (await run({ resultTypes: ['violations'], ...(rule ? { runOnly: [rule] } : {}) })).violations;
  }, only);
  return violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .map(
      (v) =>
        `${v.id} (${v.help}): ${v.nodes
          .slice(0, 3)
          .map((n) => n.target.join(' '))
          .join('; ')}`,
    );
}

const isTooWide = () => {
  const main = document.querySelector('main')!;
  return document.documentElement.scrollWidth > innerWidth || main.scrollWidth > main.clientWidth;
};
const shade = () => {
  const [r, g, b] = (getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []).map(Number);
  return (r! + g! + b!) / 3;
};

const all = [...pages.map((p) => p.id), 'analyses/kernel-breakdown'];
const half = Math.ceil(all.length / 2);

for (const [part, ids] of [all.slice(0, half), all.slice(half)].entries())
  it.concurrent(`no obstacle on pages, in no width, light and dark (${part + 1} of 2)`, {
    timeout: 300_000,
  }, async () => {
    const opened = await open(ids[0]!);
    const { page } = opened;
    await page.evaluate(axe); // by the debugger, which no policy of the page stops
    const found: string[] = [];
    for (const id of ids) {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 1440, height: 900 });
      await goTo(page, id);
      if ((await page.evaluate(shade)) < 200) found.push(`${id}: not light`);
      found.push(...(await obstacles(page)).map((o) => `${id}, light: ${o}`));
      await page.emulateMedia({ colorScheme: 'dark' });
      await settled(page);
      if ((await page.evaluate(shade)) > 60) found.push(`${id}: not dark`);
      found.push(...(await obstacles(page, 'color-contrast')).map((o) => `${id}, dark: ${o}`));
      for (const [width, height] of sizes) {
        await page.setViewportSize({ width, height });
        await settled(page);
        if (await page.evaluate(isTooWide)) found.push(`${id} sticks out at ${width} pixels`);
      }
    }
    expect(found.join('\n')).toBe('');
    await opened.close();
  });
