import { defineConfig } from 'vitest/config';

/** A condition is waited for as long as a busy machine may take for it; what holds at once is seen at once. */
const patiently = { poll: { timeout: 30_000 } };

/** One project per kind of test; what each may do is told in ARCHITECTURE.md, "Tests". */
export default defineConfig({
  test: {
    // Tests with processes of their own wait more than they work: two files at a time, also where there are two cores.
    maxWorkers: 2,
    // Limits end what hangs; they are no measure of speed: a busy machine takes ten times as long as an idle one.
    projects: [
      { test: { name: 'unit', expect: patiently, include: ['test/unit/**/*.test.ts'], testTimeout: 60_000 } },
      { test: { name: 'contract', include: ['test/contract/**/*.test.ts'], testTimeout: 120_000 } },
      { test: { name: 'parity', include: ['test/parity/**/*.test.ts'], testTimeout: 120_000 } },
      {
        test: {
          name: 'integration',
          expect: patiently,
          include: ['test/integration/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'e2e',
          expect: patiently,
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'peers',
          expect: patiently,
          include: ['test/peers/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'tarball',
          expect: patiently,
          include: ['test/tarball/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
