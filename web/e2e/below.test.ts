// Below a path (kino serve --base-path), as behind a proxy: every page asks there and nowhere else, which open() sees to.
import { expect, it } from 'vitest';
import { pages } from '../src/pages';
import { belowUrl, goTo, open, saved, visibleRows } from './support';

it.concurrent('every page works below a path', { timeout: 120_000 }, async () => {
  expect(new URL(belowUrl).pathname).toBe('/team/kino');
  const opened = await open('overview', { base: belowUrl });
  const { page } = opened;
  for (const { id } of pages) await goTo(page, id);
  await goTo(page, 'operators');
  expect((await visibleRows(page, 'Operators')).length).toBeGreaterThan(3);
  await opened.close();
});

it.concurrent('files are saved from below it', { timeout: 120_000 }, async () => {
  const opened = await open('operators', { base: belowUrl });
  const csv = await saved(
    opened.page,
    opened.page.locator('main').getByRole('link', { name: 'All', exact: true }).first(),
  );
  expect(csv.split('\n').length).toBeGreaterThan(2);
  await opened.close();
});
