import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';
import { planBackfill } from '../../../src/backfill/configured-backfill.ts';
import { loadScorerKit } from '../../../src/scoring/setup/scorer-kit.ts';

const HOUR_MS = 3_600_000;

async function plan(rules?: readonly string[]) {
  const config = parseConfig({
    rules: [
      { name: 'runs', scorers: ['tone'] },
      { name: 'conversations', target: 'session', scorers: ['tone'] },
    ],
  });
  const kit = await loadScorerKit(config);
  const request = { fromMs: 0, toMs: HOUR_MS, where: { status: 'error' }, limits: {} };
  return planBackfill(
    { config, kit },
    rules === undefined ? request : { ...request, rules },
    (path) => `--${path}`,
  );
}

describe('a backfill with conditions', () => {
  it('runs rules on sessions beside rules on traces', async () => {
    expect(await plan()).toMatchObject({
      where: { status: 'error' },
      rules: [
        { name: 'runs', target: 'trace' },
        { name: 'conversations', target: 'session' },
      ],
    });
  });

  it('runs only the rules that it names', async () => {
    expect((await plan(['conversations'])).rules).toMatchObject([{ name: 'conversations' }]);
  });
});
