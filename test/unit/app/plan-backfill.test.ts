import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/app/config/index.ts';
import { planBackfill } from '../../../src/app/jobs/backfills.ts';
import { loadScorerKit } from '../../../src/app/scoring/scorer-kit.ts';

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
  it('is refused for rules on sessions, which it names with what to do', async () => {
    await expect(plan()).rejects.toThrow(
      '--where: it looks at traces, and these rules are on sessions: conversations; name another rule in --rule',
    );
  });

  it('runs a rule on traces beside a rule on sessions', async () => {
    expect(await plan(['runs'])).toMatchObject({ where: { status: 'error' } });
  });
});
