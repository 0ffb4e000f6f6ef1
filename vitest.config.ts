import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Each process of a test would compile the same modules anew, which is most of its start.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compile', import.meta.url));

/** A condition is waited for as long as a busy machine may take for it. Each look at a store costs the machine, so looks are few. */
const patiently = { poll: { timeout: 60_000, interval: 200 } };

/** Tests that take minutes: they run in the project `long` only. */
const LONG = 'test/**/long/**/*.test.ts';

/** Unit tests that need seconds: random cases by the thousand, simulations, texts compared with a library. */
const NEEDS_SECONDS = [
  'test/**/*.property.test.ts',
  'test/unit/monitors/**',
  'test/unit/docs/**',
  'test/unit/scoring/{chaos,score-joined}.test.ts',
  'test/unit/scoring/setup/read-in-turns.test.ts',
  'test/unit/scorers/{injections,judged-questions,text-scorers}.test.ts',
];

/** Most of the time of small files is the loading of modules: all files of a worker share them. */
const SHARED_MODULES = { isolate: false };

/** Limits end what hangs; they are no measure of speed: a busy machine takes ten times as long as an idle one. */
const SLOW = {
  ...SHARED_MODULES,
  expect: patiently,
  testTimeout: 600_000,
  hookTimeout: 600_000,
  globalSetup: 'test/support/store/engine-folders.ts',
};

/** The tests of one folder but for the long ones. */
function folder(name: string, settings: object) {
  const exclude = [...configDefaults.exclude, LONG];
  return { test: { name, include: [`test/${name}/**/*.test.ts`], exclude, ...settings } };
}

/** Files that take a minute or more each, and begin first: at the end, the other workers would have nothing left to do. */
const LONGEST = [
  'long/overlaps',
  'long/issue-kills',
  'long/judge-drift',
  'long/pages',
  'long/monitors',
  'long/purge',
  'long/reloads',
  'long/cli-serve',
  'long/two-scorers',
  'long/fleet-kills',
  'long/catch-up',
  'long/backfill-kills',
  'long/judge-faults',
  'long/store-outages',
  'long/kafka',
  'deployed-collector',
  'quickstarts.test',
  'schemathesis',
  'score-exporters',
  'alertmanager.test',
  'image-stages',
];

/** Projects with long files begin before the others. Files that install packages wait for the network, so others run beside them. */
const PROJECTS = ['peers', 'tarball', 'long', 'e2e', 'integration', 'contract', 'parity', 'unit'];

/**
 * Without results of an earlier run, as in a fresh clone, the order is that of the sizes of the files. A worker goes on to the next
 * file with what it has loaded, as long as that is of the same project.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) =>
      PROJECTS.indexOf(project.name) +
      (LONGEST.some((name) => moduleId.includes(name)) ? 0 : PROJECTS.length);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** One project per kind of test; what each may do is told in CONTRIBUTING.md, "Tests". */
export default defineConfig({
  test: {
    // Tests with processes of their own wait about as much as they work: four files at a time, also where there are two cores.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      folder('unit', { ...SHARED_MODULES, expect: patiently, testTimeout: 60_000 }),
      folder('contract', { ...SHARED_MODULES, testTimeout: 120_000 }),
      folder('parity', { ...SHARED_MODULES, testTimeout: 120_000 }),
      folder('integration', SLOW),
      folder('e2e', SLOW),
      folder('peers', SLOW),
      folder('tarball', SLOW),
      {
        test: {
          name: 'fast',
          expect: patiently,
          include: ['test/unit/**/*.test.ts', 'test/parity/**/*.test.ts'],
          exclude: [...configDefaults.exclude, LONG, ...NEEDS_SECONDS],
          ...SHARED_MODULES,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'long',
          include: [LONG],
          ...SLOW,
        },
      },
    ],
  },
});
