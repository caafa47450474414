// The tests in a real browser: tests/integration/test_web.py starts the servers and says where they are.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['e2e/**/*.test.ts'],
    globalSetup: ['e2e/browser.ts'],
    maxWorkers: 2,
    maxConcurrency: 2,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    retry: 1, // a busy machine may stop the browser for seconds between two steps of a test
    expect: { poll: { timeout: 60_000, interval: 40 } },
  },
});
