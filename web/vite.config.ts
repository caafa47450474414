// How the UI is built: one page, relative addresses (it may be served below any path), small lazy chunks.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  base: './',
  // The bundle may import nothing that needs inline script or style: the server's policy forbids both.
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // The licences of what is in the bundle go with it; the help dialog links there.
    license: { fileName: 'licenses.txt' },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // Tests in a real browser (e2e/) need a server and have a configuration of their own.
  test: { include: ['tests/**/*.test.ts'] },
  server: {
    // `npm run dev` shows the sources against a running `kino serve` (KINO_SERVER says where).
    proxy: { '/api': { target: process.env.KINO_SERVER ?? 'http://127.0.0.1:6007', changeOrigin: true } },
  },
});
