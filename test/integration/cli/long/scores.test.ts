import { afterAll, beforeAll, expect, it } from 'vitest';
import { emptyFolder, jsonLines } from '../../../support/processes/cli.ts';
import { runCommand } from '../../../support/processes/run-command.ts';
import { buildScore, storeFlags, testStore, type TestStore } from '../../../support/store/store-rows.ts';

let its: TestStore;
beforeAll(async () => {
  its = await testStore();
});
afterAll(() => its.stop());

function scores(args: readonly string[], more: Partial<Parameters<typeof runCommand>[1]> = {}) {
  return runCommand(['scores', '--json', ...args, ...storeFlags(its.options)], {
    cwd: emptyFolder(),
    ...more,
  });
}

it('scores --scorer takes several names, repeated or with commas', async () => {
  const names = ['tone', 'bias', 'toxicity', 'completeness'];
  await its.store.scores.write(names.map((scorer) => buildScore({ scorer, serviceName: 'named' })));
  const args = ['--service', 'named', '--scorer', 'tone', '--scorer', 'bias,toxicity'];
  const rows = jsonLines((await scores(args)).stdout) as { scorer: string }[];
  expect(rows.map(({ scorer }) => scorer).toSorted()).toEqual(['bias', 'tone', 'toxicity']);
});

it('scores --follow prints every stored and every new score once, oldest first, however many there are', async () => {
  const count = 1_020;
  const startMs = Date.now() - 30_000;
  // Most rows share their time with others, also at the end of a page.
  const rows = Array.from({ length: count }, (_, index) =>
    buildScore({ serviceName: 'followed', scoredAt: startMs + Math.floor(index / 100) }),
  );
  await its.store.scores.write(rows.slice(1));
  const ending = new AbortController();
  const at = new Map([
    [count - 1, () => void its.store.scores.write(rows.slice(0, 1))],
    // Further reads print nothing twice.
    [count, () => void setTimeout(() => ending.abort('SIGINT'), 3_000)],
  ]);
  const onStdout = (stdout: string) => {
    const lines = stdout.split('\n').length - 1;
    at.get(lines)?.();
    at.delete(lines);
  };
  const following = scores(['--service', 'followed', '--since', '5m', '--follow'], {
    signal: ending.signal,
    onStdout,
  });
  const { code, stdout } = await following;
  const printed = jsonLines(stdout) as { scoreId: string; scoredAt: string }[];
  expect(code).toBe(130);
  expect(printed).toHaveLength(count);
  expect(new Set(printed.map(({ scoreId }) => scoreId)).size).toBe(count);
  const times = printed.slice(0, count - 1).map(({ scoredAt }) => scoredAt);
  expect(times).toEqual(times.toSorted());
});
