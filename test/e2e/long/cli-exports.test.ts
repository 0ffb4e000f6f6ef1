import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRequestGate, type RequestGate } from '../../support/fakes/request-gate.ts';
import { emptyFolder, startCli } from '../../support/processes/cli.ts';
import { buildScore, storeFlags, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

let base: TestStore;
let gate: RequestGate;
let cwd: string;

const listFiles = () => readdirSync(cwd);
const hasPartial = () => listFiles().some((name) => name.endsWith('.partial'));

beforeAll(async () => {
  base = await testStore();
  await base.store.scores.write([buildScore({ source: 'human', scoredBy: 'ann' })]);
  // An export is never over: its store hangs as soon as it has begun to write.
  gate = await startRequestGate(base.options.url, async (_, forward) => {
    if (hasPartial()) {
      await new Promise<never>(() => undefined);
    }
    await forward();
    return true;
  });
});
afterAll(async () => {
  await gate.close();
  await base.stop();
});

beforeEach(() => {
  cwd = emptyFolder();
});

/** Starts an export, sends SIGINT when it writes, and returns its exit code. */
async function interrupt(...argv: string[]): Promise<number | null> {
  const flags = storeFlags({ ...base.options, url: gate.url });
  const { child, ended } = startCli([...argv, ...flags], { cwd, stdin: '' });
  const early = ended.then(({ code, stderr }) => {
    throw new Error(`the command ended with ${code} before its interruption: ${stderr}`);
  });
  await Promise.race([until(hasPartial), early]);
  early.catch(() => undefined);
  child.kill('SIGINT');
  return (await ended).code;
}

describe.each([
  ['labels export', ['labels', 'export'], 'labels.csv'],
  ['export', ['export', '--since', '1970-01-01T00:00:00Z'], 'scores.parquet'],
])('Ctrl-C during %s', (_, argv, out) => {
  it('leaves no file', async () => {
    expect(await interrupt(...argv, '--out', out)).toBe(130);
    expect(listFiles()).toEqual([]);
  });

  it('leaves a former file as it was', async () => {
    writeFileSync(join(cwd, out), 'before');

    expect(await interrupt(...argv, '--out', out)).toBe(130);

    expect(listFiles()).toEqual([out]);
    expect(readFileSync(join(cwd, out), 'utf8')).toBe('before');
  });
});
