import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../src/components.ts';
import { loadConfig } from '../../src/configuration.ts';
import { readBlocks } from '../support/documents/quickstarts.ts';

const root = new URL('../../', import.meta.url);
const PAGES = [
  'README.md',
  'docs/try.md',
  'docs/receive-spans.md',
  'docs/beside.md',
  'docs/export-scores.md',
  'docs/data.md',
  'docs/judges.md',
];
const folder = mkdtempSync(join(tmpdir(), 'spanscore-config-examples-'));
/** Every variable that an example names. */
const variables = {
  TEAM_A_TOKEN: 'a-token-that-is-long-enough',
  INGEST_TOKEN: 'a-token-that-is-long-enough',
  ENGINE_PASSWORD: 'a-password',
  HOOK_SECRET: 'a-secret',
  LANGFUSE_PUBLIC_KEY: 'a-key',
  LANGFUSE_SECRET_KEY: 'a-secret',
  PHOENIX_API_KEY: 'a-key',
  S3_ID: 'a-key',
  S3_KEY: 'a-secret',
};

/** The configurations on a page; rule files of monitors begin with `groups` and are tested with the alerts. */
const examples = PAGES.flatMap((page) =>
  readBlocks(readFileSync(new URL(page, root), 'utf8'), 'yaml')
    .filter((text) => !/^groups:/m.test(text))
    .map((text, index) => ({ page, text, number: index + 1 })),
);

describe('the configurations that pages show', () => {
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(examples)('$page, configuration $number, can be loaded', async ({ text }) => {
    const path = join(folder, 'spanscore.config.yaml');
    writeFileSync(path, text);

    const { warnings } = await loadConfig({ path, cwd: folder, variables, scorers: PREBUILT_SCORERS });

    expect(warnings).toEqual([]);
  });
});

describe('the configurations in examples', () => {
  const cwd = fileURLToPath(root);
  // This one is read by the Collector; its test runs it.
  const exclude = ['examples/collector/collector.yaml'];
  const files = globSync('examples/**/*.yaml', { cwd, exclude }).toSorted();

  it('are found', () => {
    expect(files).toEqual([
      'examples/collector/spanscore.config.yaml',
      'examples/kafka/scorer.yaml',
      'examples/python-agent/spanscore.config.yaml',
    ]);
  });

  it.each(files)('%s can be loaded', async (path) => {
    const { warnings } = await loadConfig({ path, cwd, variables, scorers: PREBUILT_SCORERS });

    expect(warnings).toEqual([]);
  });
});

it('links the README of each example from the main README', () => {
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  const pages = globSync('examples/*/README.md', { cwd: fileURLToPath(root) });

  expect(pages.length).toBeGreaterThan(2);
  expect(pages.filter((page) => !readme.includes(page))).toEqual([]);
});
