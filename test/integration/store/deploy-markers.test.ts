import { describe, expect, test } from 'vitest';
import { refreshAggregates } from '../../../src/aggregates/refresh-aggregates.ts';
import { compareDeploys } from '../../../src/api/reads/compare.ts';
import type { Score } from '../../../src/domain/score.ts';
import { HOUR_MS } from '../../support/monitors/hourly-monitors.ts';
import { worldsOfTests, WORLD_START_MS as START } from '../../support/monitors/monitor-world.ts';

const its = worldsOfTests();

const DEPLOY_MS = START + 30 * HOUR_MS;
const AROUND: readonly number[] = [-0.05, 0, 0.05];

/** Hourly scores around a mean. */
function around(mean: number, more: Partial<Score>): Partial<Score>[] {
  return AROUND.map((off) => ({ ...more, score: mean + off }));
}

async function versionsSeen(): Promise<Set<string>> {
  const { items: markers } = await its.world.store.markers.list({}, { limit: 10 });
  return new Set(
    markers.map(({ agent, serviceVersion, agentVersion }) => `${agent} ${serviceVersion} ${agentVersion}`),
  );
}

describe('deploy markers', () => {
  test('are made of the first live score of each version of a service or of an agent', async () => {
    await its.world.scoredHourly(START, START + 2 * HOUR_MS, [
      { score: 1, agent: 'a', serviceVersion: 'v1' },
      { score: 1, agent: 'a', serviceVersion: 'v1', agentVersion: '2' },
      { score: 1, agent: 'b', agentVersion: '7' },
      { score: 1, agent: 'c' },
      { score: 1, agent: 'd', agentVersion: '9', source: 'backfill' },
    ]);
    const seen = await versionsSeen();
    expect(seen).toEqual(new Set(['a v1 ', 'a v1 2', 'b  7']));
    // From here on the arrivals of these scores are too old to be read.
    await refreshAggregates(its.world.store.aggregates);
    expect(await versionsSeen()).toEqual(seen);
  });

  test('move to an earlier start that a later score has', async () => {
    const { store } = its.world;
    const version = { agent: 'a', serviceVersion: 'v1', agentVersion: '' };
    const startedAt = [DEPLOY_MS, DEPLOY_MS - HOUR_MS, DEPLOY_MS + HOUR_MS];
    for (const [index, traceTimestamp] of startedAt.entries()) {
      await its.world.scored(Date.now() + index, [{ ...version, traceTimestamp }]);
      await refreshAggregates(store.aggregates);
    }
    const { items: markers } = await store.markers.list({}, { limit: 10 });
    expect(markers).toMatchObject([{ ...version, atMs: DEPLOY_MS - HOUR_MS }]);
  });

  test('of an agent compare that agent before and since, and leave the others of its service alone', async () => {
    const others = around(0.8, { agent: 'other', serviceVersion: 'v1', agentVersion: '1' });
    await its.world.scoredHourly(START, DEPLOY_MS, [
      ...around(0.85, { agent: 'changed', serviceVersion: 'v1', agentVersion: '1' }),
      ...others,
    ]);
    await its.world.scoredHourly(DEPLOY_MS, DEPLOY_MS + 12 * HOUR_MS, [
      ...around(0.15, { agent: 'changed', serviceVersion: 'v1', agentVersion: '2' }),
      ...others,
    ]);
    const [compared, ...more] = await compareDeploys(its.world.store.markers, { version: '2' });
    expect(more).toEqual([]);
    expect(compared?.deploy).toMatchObject({ service: 'shop', version: '2', agents: ['changed'] });
    expect(compared?.comparisons).toMatchObject([
      { series: { agent: 'changed' }, effect: 'worse', before: { count: 90 }, after: { count: 36 } },
    ]);
  });

  test('of a service compare all its agents, be it that one has that version, too', async () => {
    const of = (version: string, mean: number) => [
      ...around(mean, { agent: 'a', serviceVersion: version }),
      ...around(mean, { agent: 'b', serviceVersion: version, agentVersion: version }),
    ];
    await its.world.scoredHourly(START, DEPLOY_MS, of('v1', 0.85));
    await its.world.scoredHourly(DEPLOY_MS, DEPLOY_MS + 12 * HOUR_MS, of('v2', 0.15));
    const [compared] = await compareDeploys(its.world.store.markers, { version: 'v2' });
    expect(compared?.deploy.agents).toEqual([]);
    expect(compared?.comparisons.map(({ series, effect }) => `${series.agent} ${effect}`).sort()).toEqual([
      'a worse',
      'b worse',
    ]);
  });
});
