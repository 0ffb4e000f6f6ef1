import { randomUUID } from 'node:crypto';
import { parseConfig, type ConfigInput } from '../../../src/configuration.ts';
import { configuredMonitors, keyedRules } from '../../../src/monitors/live/configured-monitors.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import type { MonitorStatus } from '../../../src/monitors/monitor-status.ts';
import type { JobRow } from '../../../src/store/contracts/jobs.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Failure } from '../../../src/domain/failure.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { buildFailure } from '../builders/a-failure.ts';
import { aScore } from '../builders/a-score.ts';
import { anAlert, resolvedEvent } from '../builders/an-alert.ts';
import { buildRunRecord } from '../store/run-rows.ts';
import { newTraceId } from '../store/store-rows.ts';

/** Item of a list, as its reply has it. */
export type ListItem = Readonly<Record<string, unknown>>;

/** Items of a list that can be paged. */
export interface ListSeed {
  /** Stores items before the first page. Returns their names. */
  readonly store: (store: Store) => Promise<readonly string[]>;
  /** Stores a newer item, and changes the oldest of the stored ones, as happens between two pages. */
  readonly arrive: (store: Store, names: readonly string[], round: number) => Promise<void>;
  readonly nameOf: (item: ListItem) => string;
  /** Time by which the list is ordered; absent in a list that is ordered by names. */
  readonly timeOf?: (item: ListItem) => string;
}

/** Configuration with the monitors of `LIST_SEEDS`. */
export const SEED_CONFIG: ConfigInput = {
  monitors: [
    {
      groups: [
        { name: 'quality', interval: '60m', rules: [{ alert: 'Low', detector: 'floor', minimum: 0.5 }] },
      ],
    },
  ],
};

const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;
const STORED = 25;

/** Times of stored items: three items have the same one. */
const TIMES = Array.from({ length: STORED }, (_, index) => START_MS + Math.trunc(index / 3) * MINUTE_MS);

/** Time of an item that arrives, later than all stored ones. */
const LATER_MS = START_MS + 60 * MINUTE_MS;

const scoreOf = (scoreId: string, traceTimestamp: number) => {
  const traceId = newTraceId();
  return aScore({ scoreId, traceId, targetId: traceId, traceTimestamp, day: '2026-01-01' });
};

const SCORES: ListSeed = {
  store: async ({ scores }) => {
    const stored = TIMES.map((atMs) => scoreOf(randomUUID(), atMs));
    await scores.write(stored);
    return stored.map(({ scoreId }) => scoreId);
  },
  arrive: async ({ scores }, [oldest = '']) => {
    const again = (await scores.byIds([oldest])).get(oldest) ?? scoreOf(oldest, START_MS);
    await scores.write([
      scoreOf(randomUUID(), LATER_MS),
      { ...again, revision: again.revision + 1, evidenceUntil: again.evidenceUntil + 1 },
    ]);
  },
  nameOf: ({ scoreId }) => String(scoreId),
  timeOf: ({ traceTimestamp }) => String(traceTimestamp),
};

const TRACES: ListSeed = {
  store: async ({ runs }) => {
    const stored = TIMES.map((startedAt) => buildRunRecord({ startedAt, sessionId: '' }));
    await runs.write(stored);
    return stored.map(({ traceId }) => traceId);
  },
  arrive: ({ runs }, [traceId = ''], round) =>
    runs.write([
      buildRunRecord({ startedAt: LATER_MS, sessionId: '' }),
      buildRunRecord({ traceId, startedAt: START_MS, sessionId: '', evidenceUntil: Date.now() + round }),
    ]),
  nameOf: ({ traceId }) => String(traceId),
  timeOf: ({ startedAt }) => String(startedAt),
};

const turnOf = (sessionId: string, startedAt: number) => buildRunRecord({ sessionId, startedAt });

const SESSIONS: ListSeed = {
  store: async ({ runs }) => {
    const names = TIMES.map((_, index) => `session-${index}`);
    await runs.write(
      names.flatMap((name, index) => [
        turnOf(name, TIMES[index] ?? 0),
        turnOf(name, START_MS + 30 * MINUTE_MS),
      ]),
    );
    return names;
  },
  arrive: ({ runs }, [oldest = ''], round) =>
    runs.write([turnOf(`later-${round}`, LATER_MS), turnOf(oldest, LATER_MS + MINUTE_MS)]),
  nameOf: ({ sessionId }) => String(sessionId),
  timeOf: ({ startedAt }) => String(startedAt),
};

async function writeStatuses({ monitors }: Store, agents: readonly string[], phase: MonitorStatus['phase']) {
  const [rule] = keyedRules(await configuredMonitors(parseConfig(SEED_CONFIG)));
  const statuses = agents.map((agent) => ({
    ruleKey: rule?.key ?? '',
    group: 'quality',
    alert: 'Low',
    detector: 'floor',
    series: { ...anAlert().series, agent },
    phase,
    sinceMs: START_MS,
    incidentId: null,
    finding: null,
    lacks: null,
    mean: 0.5,
    baseline: null,
    limit: null,
    evidenceLog10: null,
    scores: 1,
    bucketMs: START_MS,
  }));
  await monitors.writeStatus(statuses);
}

const MONITORS: ListSeed = {
  store: async (store) => {
    const agents = TIMES.map((_, index) => `agent ${String.fromCodePoint(65 + index)}`);
    await writeStatuses(store, agents, 'ok');
    return agents;
  },
  arrive: async (store, agents, round) => {
    await writeStatuses(store, [agents[0] ?? '', agents.at(-1) ?? ''], round % 2 === 0 ? 'firing' : 'ok');
    await writeStatuses(store, [`agent ${round}`, `agent K ${round}`], 'firing');
  },
  nameOf: ({ series }) => (series as AlertEvent['series']).agent,
};

const ALERTS: ListSeed = {
  store: async ({ alerts }) => {
    const events = TIMES.map((startsAtMs, index) => anAlert({ startsAtMs, alert: `Low ${index}` }));
    await alerts.write(events);
    return events.map(({ id }) => id);
  },
  arrive: ({ alerts }, _, round) =>
    alerts.write([
      anAlert({ startsAtMs: LATER_MS, alert: `Later ${round}` }),
      anAlert({ startsAtMs: START_MS, alert: 'Low 0' }),
      resolvedEvent(anAlert({ startsAtMs: START_MS, alert: 'Low 0' })),
    ]),
  nameOf: ({ id }) => String(id),
  timeOf: ({ startsAt, endsAt }) => String(endsAt ?? startsAt),
};

const mute = ({ alerts }: Store, subject: string, hours: number) =>
  alerts.mute({ tenant: '*', subject, untilMs: Date.now() + hours * 60 * MINUTE_MS });

const MUTES: ListSeed = {
  store: async (store) => {
    const names = TIMES.map((_, index) => `mute ${index}`);
    for (const name of names) {
      await mute(store, name, 1);
    }
    return names;
  },
  arrive: async (store, [oldest = '', second = ''], round) => {
    await mute(store, oldest, 2);
    await mute(store, second, 3);
    await mute(store, `later ${round}`, 1);
  },
  nameOf: ({ subject }) => String(subject),
};

const MARKERS: ListSeed = {
  store: async ({ markers }) => {
    const versions = TIMES.map((_, index) => `v${index}`);
    for (const [index, serviceVersion] of versions.entries()) {
      await markers.record(markerOf(serviceVersion, TIMES[index] ?? 0));
    }
    return versions;
  },
  arrive: async ({ markers }, [oldest = ''], round) => {
    await markers.record(markerOf(oldest, LATER_MS));
    await markers.record(markerOf(`later ${round}`, LATER_MS));
  },
  nameOf: ({ version, origin }) => (origin === 'api' ? String(version) : `${String(origin)} ${randomUUID()}`),
  timeOf: ({ at }) => String(at),
};

function markerOf(serviceVersion: string, atMs: number) {
  return {
    tenant: '',
    service: 'shop',
    agent: '',
    serviceVersion,
    agentVersion: '',
    origin: 'api',
    atMs,
  } as const;
}

const backfillOf = (id: string, createdAtMs: number, version = 1): JobRow => ({
  id,
  kind: 'backfill',
  tenant: '',
  spec: {},
  status: 'running',
  owner: '',
  checkpoint: null,
  report: {},
  costUsd: version,
  error: '',
  createdAtMs,
  startedAtMs: createdAtMs,
  finishedAtMs: null,
  version,
});

const BACKFILLS: ListSeed = {
  store: async ({ jobs }) => {
    const rows = TIMES.map((atMs) => backfillOf(randomUUID(), atMs));
    await Promise.all(rows.map((row) => jobs.write(row)));
    return rows.map(({ id }) => id);
  },
  arrive: async ({ jobs }, [oldest = ''], round) => {
    await jobs.write(backfillOf(randomUUID(), LATER_MS));
    await jobs.write(backfillOf(oldest, START_MS, round + 2));
  },
  nameOf: ({ id }) => String(id),
  timeOf: ({ createdAt }) => String(createdAt),
};

/** Ways to fill each list that has pages, by its path. */
/** Start of runs with issues: lists of these reach back seven days. */
const RECENT_MS = Date.now() - 60 * MINUTE_MS;

async function storeFailures({ runs, failures }: Store, stored: readonly Failure[]): Promise<void> {
  await runs.write(
    stored.map(({ traceId, agent }) =>
      buildRunRecord({ traceId, agent, startedAt: RECENT_MS, sessionId: '' }),
    ),
  );
  await failures.write(stored);
  await updateIssues({ failures });
}

const failureOf = (agent: string, signatureId: string) =>
  buildFailure({
    agent,
    signatureId,
    subject: { tool: signatureId, errorType: '', text: '' },
    traceTimestamp: RECENT_MS,
  });

const ISSUES: ListSeed = {
  store: async (store) => {
    const stored = TIMES.map((_, index) => failureOf('seeded', `00000000000001${10 + index}`));
    await storeFailures(store, stored);
    return stored.map(({ signatureId }) => signatureId);
  },
  arrive: async (store, [oldest = ''], round) => {
    const query = { tenant: '', sinceMs: 0, untilMs: Date.now(), issueId: oldest };
    const again = await store.failures.examples(query, 1);
    await storeFailures(store, [failureOf('other', `00000000000002${10 + round}`), ...again]);
  },
  nameOf: ({ id }) => String(id),
};

export const LIST_SEEDS: Readonly<Record<string, ListSeed>> = {
  '/scores': SCORES,
  '/traces': TRACES,
  '/sessions': SESSIONS,
  '/monitors': MONITORS,
  '/alerts': ALERTS,
  '/mutes': MUTES,
  '/markers': MARKERS,
  '/backfills': BACKFILLS,
  '/issues': ISSUES,
};
