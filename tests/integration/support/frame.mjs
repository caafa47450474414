// Kino's UI in a frame of another page: node frame.mjs '{"web": …, "chromium": …, "url": …, "markup": …, "pages": […], "shots": …}'
// Opens `url`, adds `markup` to it where there is any, finds the frame that shows the UI, goes to each of its pages, and prints what is to be
// read there as JSON. `query` is what the address of each page has ("run=a"); `first` is opened before: a page that sets a cookie. `shots` is a folder for pictures.
import { createRequire } from 'node:module';

const { web, chromium: executablePath, url, first, markup, pages, query, shots } = JSON.parse(process.argv[2]);
const { chromium } = createRequire(`${web}/package.json`)('playwright-core');
const flags = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const SECONDS = 45;

/** Looks again and again until there is something. */
async function until(look, what) {
  const end = Date.now() + SECONDS * 1000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited for ${what}: ${page.frames().map((f) => f.url()).join(" ")} ${complaints}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

const isShown = (name) => {
  const head = document.querySelector('main h1');
  return location.hash.startsWith(`#/${name}`) && head !== null && document.querySelector('[aria-busy="true"], .loading') === null;
};
const drawn = () => [...document.querySelectorAll('main canvas')].filter((c) => c.width > 0 && c.height > 0).length;

const browser = await chromium.launch({ executablePath, args: flags });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const complaints = [];
page.on('pageerror', (e) => complaints.push(e.message));
page.on('response', (r) => { if (r.status() >= 400 && r.url().includes('/api/v1/')) complaints.push(`${r.url()}: ${r.status()}`); });
if (first) await page.goto(first);
await page.goto(url);
if (markup) await page.evaluate((text) => { document.body.innerHTML = text; }, markup);
const frame = await until(() => page.frames().find((f) => f !== page.mainFrame() && /#\/\w/.test(f.url())), 'the frame');
const texts = {};
for (const name of pages) {
  await frame.evaluate((to) => { location.hash = to; }, `#/${name}?${query ?? ''}`);
  await until(() => frame.evaluate(isShown, name), name);
  await new Promise((done) => setTimeout(done, 300)); // pictures are drawn in the frame after
  texts[name] = { text: await frame.locator('main').innerText(), canvases: await frame.evaluate(drawn) };
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}
console.log(JSON.stringify({ frame: frame.url(), texts, complaints, page: (await page.locator('body').innerText()).slice(0, 500) }));
await browser.close();
