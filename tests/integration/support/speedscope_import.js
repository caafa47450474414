// Runs speedscope's own importer on a file and prints what it made of it, as JSON.
//
//   node speedscope_import.js PACKAGE FILE
//
// The published package is the web application as one bundle, with nothing to require. Its importer needs no page, though: the
// bundle is run without its last statement, which draws the page, and the importer is taken from inside. How the bundle names
// it is found by the dynamic import() with which the application loads it.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

function loadImporter(folder) {
  const release = path.join(folder, "dist", "release");
  const bundle = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
  const code = fs.readFileSync(path.join(release, bundle), "utf8");
  const door = /Promise\.resolve\(\)\.then\(\(\)=>\((\w+)\(\),(\w+)\)\)/.exec(code);
  const tail = code.lastIndexOf("console.log(`speedscope v");
  if (!door || tail < 0) throw new Error("this release of speedscope is built in another way");
  // Stands in for everything that a page has.
  const page = new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => "" : page),
    set: () => true, apply: () => page, construct: () => page,
  });
  const quiet = { log() {}, warn() {}, error() {}, time() {}, timeEnd() {} };
  const world = { console: quiet, TextDecoder, TextEncoder, setTimeout, clearTimeout, URL, performance, document: page,
    navigator: { userAgent: "" }, location: { hash: "", href: "file:///", protocol: "file:" }, localStorage: page,
    matchMedia: page, requestAnimationFrame: page, addEventListener: page };
  world.window = world.self = world;
  vm.runInContext(`${code.slice(0, tail)}globalThis.importer=(${door[1]}(),${door[2]});})();`, vm.createContext(world));
  return world.importer;
}

async function main() {
  const [folder, file] = process.argv.slice(2);
  const group = await loadImporter(folder).importProfileGroupFromText(path.basename(file), fs.readFileSync(file, "utf8"));
  const profiles = group.profiles.map((profile) => {
    const calls = [], open = [];
    profile.forEachCall(
      (node, value) => open.push([node.frame.name, value]),
      (node, value) => { const [name, start] = open.pop(); calls.push([name, start, value]); });
    return { name: profile.getName(), total: profile.getTotalWeight(), formatted: profile.formatValue(1500), calls };
  });
  process.stdout.write(JSON.stringify({ name: group.name, indexToView: group.indexToView, profiles }));
}

main().catch((error) => { console.error(error); process.exit(1); });
