import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/domain/durations.ts';
import { StateDecisions } from '../../../src/issues/decide-states.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { apiWorld, tokenOf, type ApiWorld } from '../../support/api/api-world.ts';
import { buildFailure } from '../../support/builders/a-failure.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';

const ADMIN = tokenOf('admin', 'a');
const NOW_MS = Date.now();
const TERMS = { falseAlarmBudget: 1, alertAbove: 0.01 };

let world: ApiWorld;

beforeAll(async () => {
  world = await apiWorld();
});
afterAll(() => world.stop());

interface Stretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly runs: number;
  /** Every n-th run fails; 0: none. */
  readonly failingEvery: number;
  readonly version?: string;
}

/** Stores the runs of an agent with one issue. */
async function storeRuns(agent: string, issueId: string, stretches: readonly Stretch[]): Promise<void> {
  const all = stretches.flatMap(({ fromMs, toMs, runs, failingEvery, version = '1' }) =>
    Array.from({ length: runs }, (_, index) => ({
      isFailing: failingEvery > 0 && index % failingEvery === 0,
      run: buildRunRecord({
        tenant: 'a',
        agent,
        agentVersion: version,
        startedAt: Math.round(fromMs + ((toMs - fromMs) * index) / runs),
        evidenceUntil: NOW_MS,
      }),
    })),
  );
  await world.store.runs.write(all.map(({ run }) => run));
  await world.store.failures.write(
    all.flatMap(({ isFailing, run: { traceId, startedAt, agentVersion } }) =>
      isFailing
        ? [
            buildFailure({
              tenant: 'a',
              agent,
              agentVersion,
              traceId,
              traceTimestamp: startedAt,
              evidenceUntil: NOW_MS,
              signatureId: issueId,
              failureId: issueId,
            }),
          ]
        : [],
    ),
  );
  await updateIssues(world.store);
}

const CALM: Stretch = { fromMs: NOW_MS - 10 * DAY_MS, toMs: NOW_MS - DAY_MS, runs: 1_800, failingEvery: 50 };

const read = async (id: string) => (await world.ask({ path: `/issues/${id}`, token: ADMIN })).body;
const change = async (id: string, what: string, body: object) =>
  (await world.ask({ method: 'POST', path: `/issues/${id}/${what}`, body, token: ADMIN })).body;
const readAlerts = async (id: string) =>
  (await world.store.alerts.open()).filter(({ issue }) => issue?.id === id);

describe('an issue', () => {
  it('is told when it escalates, once by several processes, and until a person ignores it', async () => {
    const id = '00000000000000b0';
    await storeRuns('rising', id, [
      CALM,
      { ...CALM, fromMs: NOW_MS - DAY_MS, toMs: NOW_MS, runs: 200, failingEvery: 5 },
    ]);
    const processes = [new StateDecisions(world.store), new StateDecisions(world.store)];
    await Promise.all(processes.map((each) => each.decide(TERMS)));
    await new StateDecisions(world.store).decide(TERMS);
    const { state, history } = (await read(id)) as { state: string; history: { what: string; by: null }[] };
    expect([state, history.length, history[0]?.by]).toEqual(['escalating', 1, null]);
    expect(history[0]?.what).toMatch(/^escalating: 2(?:\.\d)? % → (?:19|20) %$/);
    expect(await readAlerts(id)).toMatchObject([
      {
        alert: 'IssueEscalating',
        status: 'firing',
        series: { tenant: 'a', agent: 'rising' },
        issue: { id, title: 'tool `get_weather` fails: HTTP 504', state: 'escalating' },
      },
    ]);
    await change(id, 'ignore', {});
    await processes[0]!.decide(TERMS);
    expect(await read(id)).toMatchObject({ state: 'ignored' });
    expect(await readAlerts(id)).toEqual([]);
  });

  it('that is new is told when it is frequent', async () => {
    const id = '00000000000000b1';
    await storeRuns('fresh', id, [
      { ...CALM, fromMs: NOW_MS - HOUR_MS, toMs: NOW_MS, runs: 50, failingEvery: 10 },
    ]);
    await new StateDecisions(world.store).decide({ ...TERMS, alertAbove: null });
    expect(await readAlerts(id)).toEqual([]);
    await new StateDecisions(world.store).decide(TERMS);
    expect(await readAlerts(id)).toMatchObject([{ alert: 'IssueNew', after: 0.1 }]);
  });

  it('that was resolved is regressed when it comes back', async () => {
    const id = '00000000000000b2';
    await storeRuns('back', id, [CALM]);
    await change(id, 'resolve', {});
    const decisions = new StateDecisions(world.store);
    await decisions.decide(TERMS);
    expect(await read(id)).toMatchObject({ state: 'resolved', verification: null });
    const nowMs = await world.store.spans.nowMs();
    await storeRuns('back', id, [{ fromMs: nowMs, toMs: nowMs + 1_000, runs: 200, failingEvery: 5 }]);
    await decisions.decide(TERMS);
    expect(await read(id)).toMatchObject({
      id,
      state: 'regressed',
      history: [{ what: 'resolve' }, { by: null }],
    });
    expect(await readAlerts(id)).toMatchObject([{ alert: 'IssueRegressed' }]);
    await decisions.decide(TERMS);
    expect(await readAlerts(id)).toHaveLength(1);
  });

  it.each([
    ['verified', '00000000000000b3', 0, 'resolved'],
    ['not-verified', '00000000000000b4', 20, 'regressed'],
  ])('resolved in a version is %s by the runs of the version', async (verdict, id, failingEvery, state) => {
    await storeRuns(verdict, id, [CALM]);
    expect(await change(id, 'resolve', { version: '2' })).toMatchObject({
      state: 'resolved',
      verification: { version: '2', state: 'running', before: { value: 0.02 }, since: null, decidedAt: null },
    });
    await storeRuns(verdict, id, [
      { fromMs: NOW_MS - DAY_MS, toMs: NOW_MS, runs: 1_200, failingEvery, version: '2' },
      { fromMs: NOW_MS - HOUR_MS, toMs: NOW_MS, runs: 300, failingEvery, version: '3' },
    ]);
    const decisions = new StateDecisions(world.store);
    await decisions.decide(TERMS);
    const found = (await read(id)) as {
      state: string;
      verification: { state: string; since: { n: number; high: number } };
    };
    expect([found.state, found.verification.state]).toEqual([state, verdict]);
    expect(found.verification.since.n).toBe(1_500);
    await decisions.decide(TERMS);
    const { state: stays, verification } = found;
    expect(await read(id)).toMatchObject({ state: stays, verification });
  });
});
