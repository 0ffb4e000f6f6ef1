import { describe, expect, it } from 'vitest';
import type { AnchorRow } from '../../../src/domain/anchor.ts';
import { type AlertEvent, computeAlertEventId } from '../../../src/monitors/alert-event.ts';
import { buildAnchorSets, describeAnchors } from '../../../src/monitors/anchor-sets.ts';
import { buildEndEvent } from '../../../src/monitors/build-alert-event.ts';
import {
  judgeThresholds,
  lookAtJudges,
  type JudgeWatchStore,
} from '../../../src/monitors/live/watch-judges.ts';
import type { JudgeDrift } from '../../../src/monitors/monitor-store.ts';
import {
  dateChange,
  type Judging,
  measureChange,
  tellWho,
  watchJudge,
} from '../../../src/monitors/statistics/judge-drift.ts';
import { anAlert, explainRuns } from '../../support/builders/an-alert.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const SIZE = 20;

/** Judgings of anchors in turn, one every two minutes; a judge that changed lowers its scores by `lower`. */
function judgingsFrom(fromMs: number, count: number, lower: number, seed = 1): Judging[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, index) => ({
    atMs: fromMs + index * 2 * MINUTE,
    anchor: String(index % SIZE),
    first: 0.7 + (index % SIZE) / 100,
    difference: (random() - 0.5) / 20 - lower,
  }));
}

const terms = { size: SIZE, thresholds: judgeThresholds(1), openedMs: null };

describe('the watch of a judge', () => {
  it.each([
    ['stays quiet about a judge that repeats itself but for noise', 0, false],
    ['finds a judge that got stricter', 0.15, true],
    ['finds a judge that got milder', -0.15, true],
  ])('%s', (_name, lower, isFound) => {
    const changeMs = START + 400 * MINUTE;
    const calm = judgingsFrom(START, 200, 0);
    const { changeBeganMs } = watchJudge([...calm, ...judgingsFrom(changeMs, 100, lower, 2)], terms);
    expect(changeBeganMs !== null).toBe(isFound);
    expect(Math.abs((changeBeganMs ?? changeMs) - changeMs)).toBeLessThanOrEqual(20 * MINUTE);
  });

  it('ends an incident when the judge is as before, and not earlier', () => {
    const strict = judgingsFrom(START, 60, 0.3);
    const openedMs = strict.at(-1)?.atMs ?? 0;
    const later = (lower: number) => judgingsFrom(openedMs + MINUTE, 200, lower, 3);
    expect(watchJudge([...strict, ...later(0.3)], { ...terms, openedMs }).isOver).toBe(false);
    expect(watchJudge([...strict, ...later(0)], { ...terms, openedMs }).isOver).toBe(true);
  });
});

describe('the verdict', () => {
  const before = judgingsFrom(START, 40, 0);
  const scores = (mean: number, fromMs = START) =>
    Array.from({ length: 200 }, (_, index) => ({
      score: mean + ((index % 5) - 2) / 50,
      atMs: fromMs + index * MINUTE,
    }));
  const tellOf = (judgings: readonly Judging[], scoresFell: number, isLast = false) =>
    tellWho({ judgings, before, size: SIZE }, measureChange(scores(0.8 - scoresFell), 0.8), isLast).who;
  const tell = (judgeFell: number, scoresFell: number) =>
    tellOf(judgingsFrom(START + 100 * MINUTE, 40, judgeFell, 4), scoresFell);
  /** Judgings of a judge that says only "good" or "bad", and now turns so many of 20 good anchors. */
  const turnedOf20 = (turned: number): Judging[] =>
    Array.from({ length: SIZE }, (_, index) => ({
      atMs: START + (100 + index) * MINUTE,
      anchor: String(index),
      first: 1,
      difference: index < turned ? -1 : 0,
    }));

  it.each([
    ['the judge, which explains the fall', 0.2, 0.2, 'judge'],
    ['the agent under an unchanged judge', 0, 0.2, 'agent'],
    ['both, where the judge explains a half', 0.2, 0.4, 'both'],
    ['the agent, where the judge got milder', -0.1, 0.2, 'agent'],
  ])('names %s', (_name, judgeFell, scoresFell, who) => {
    expect(tell(judgeFell, scoresFell)).toBe(who);
  });

  it.each([
    ['the agent, where a judge of two values turned no anchor', 0, 0.3, 'agent'],
    ['nobody yet, where it turned one and the agent may have the rest', 1, 0.1, undefined],
    ['the judge, where it turned as many anchors as scores fell', 9, 0.4, 'judge'],
    ['both, where it turned half as many', 5, 0.5, 'both'],
  ])('names %s', (_name, turned, scoresFell, who) => {
    expect(tellOf(turnedOf20(turned), scoresFell)).toBe(who);
  });

  it('blames no judge of few values for anchors that turn by chance, up as often as down', () => {
    // Every other anchor is good, and in each round another quarter of them turns.
    const round = (at: number): Judging[] =>
      turnedOf20(0).map((each, index) => {
        const first = index % 2;
        const isTurned = (Math.floor(index / 2) + at) % 4 === 0;
        return { ...each, first, difference: isTurned ? 1 - 2 * first : 0 };
      });
    const rounds = [1, 2, 3].flatMap(round);
    const change = measureChange(scores(0.55), 0.8);
    expect(tellWho({ judgings: round(4), before: rounds, size: SIZE }, change, true).who).not.toBe('judge');
  });

  it('is unknown at the end of the wait without enough evidence, and without any judging', () => {
    expect(tellOf(turnedOf20(1), 0.1, true)).toBe('unknown');
    const none = { judgings: [], before, size: SIZE };
    expect(tellWho(none, measureChange(scores(0.5).slice(0, 1), 0.8), true)).toEqual({
      who: 'unknown',
      judge: null,
    });
  });

  it('measures a change from its likely begin, so that scores from before it do not count', () => {
    const changeMs = START + 60 * MINUTE;
    const since = [...scores(0.79).slice(0, 60), ...scores(0.6, changeMs)];
    const { change, error } = measureChange(since, 0.8);
    expect(change).toBeCloseTo(-0.2, 1);
    expect(error).toBeLessThan(0.012);
    expect(dateChange(since, 0.8)).toBe(changeMs);
  });

  it('dates a change of few scores by the earliest begin that may be', () => {
    const noisy = [0.8, 0.5, 0.9, 0.2, 0.9, 0.1].map((score, minute) => ({
      score,
      atMs: START + minute * MINUTE,
    }));
    expect(dateChange(noisy, 0.8)).toBe(START);
  });

  it('makes less of a change that few scores show, as chance helped to find it', () => {
    const few = measureChange(
      [0.2, 1, 0.2, 1].map((score) => ({ score, atMs: START })),
      0.8,
    );
    expect(few.error).toBeGreaterThan(0.1);
    expect(Math.abs(few.change)).toBeLessThan(0.2);
  });
});

const SERIES = { tenant: '', scorer: 'grounding', fingerprint: 'f1', agent: 'a', environment: '' };

function anchorRow(of: Partial<AnchorRow>): AnchorRow {
  const row = { tenant: '', scorer: 'grounding', fingerprint: 'f1', traceId: 't0', first: true, score: 0.9 };
  return { ...row, atMs: START, servedModel: '', ...of };
}

/** Rows of frozen runs and of judgings in turn. */
function anchorRows(judgings: number, lower: number): AnchorRow[] {
  const frozen = Array.from({ length: SIZE }, (_, index) => anchorRow({ traceId: `t${index}` }));
  const judged = Array.from({ length: judgings }, (_, index) =>
    anchorRow({
      traceId: `t${index % SIZE}`,
      first: false,
      score: 0.9 - lower,
      atMs: START + (index + 1) * MINUTE,
    }),
  );
  return [...frozen, ...judged];
}

describe('a look at judges', () => {
  const nowMs = START + 120 * MINUTE;
  const decideByMs = nowMs + 15 * MINUTE;
  const cause = explainRuns([
    ['before', {}, 100, 0.9],
    ['after', {}, 100, 0.5],
  ]);
  const waiting = anAlert({
    series: SERIES,
    changeBeganMs: START,
    startsAtMs: nowMs,
    meanBefore: 0.9,
    cause,
    culprit: { who: 'deciding', judge: null, decideByMs },
  });

  /** A store in memory whose incident waits for the verdict, over scores that fell to 0.5. */
  function openStore(
    rows: readonly AnchorRow[],
    deciding: readonly AlertEvent[] = [waiting],
    scores: (minute: number) => number = () => 0.5,
  ) {
    const events = new Map<string, AlertEvent>(deciding.map((event) => [event.id, event]));
    const acks = new Map<string, number>();
    let clockMs = nowMs;
    const judgeDrifts = async (): Promise<JudgeDrift[]> =>
      [...events.values()]
        .filter(({ detector, status }) => detector === 'judge' && status === 'firing')
        .map((firing) => ({
          firing,
          endedMs: events.get(computeAlertEventId(firing.incidentId, 'resolved'))?.endsAtMs ?? null,
          acknowledgedMs: acks.get(firing.incidentId) ?? null,
        }));
    const store: JudgeWatchStore = {
      nowMs: async () => clockMs,
      anchors: { since: async () => [...rows] },
      alerts: {
        write: async (written) => written.forEach((event) => events.set(event.id, event)),
        judgeWork: async () => ({
          drifts: await judgeDrifts(),
          deciding: [...events.values()].filter(({ culprit }) => culprit?.who === 'deciding'),
        }),
        scoresSince: async (_series, fromMs) =>
          Array.from({ length: 120 }, (_, minute) => ({
            score: scores(minute),
            atMs: START + minute * MINUTE,
          })).filter(({ atMs }) => atMs >= fromMs),
        acknowledge: async (incidentId) => void acks.set(incidentId, clockMs),
      },
    };
    const look = async (minutes = 0, startsNewSeries = false) => {
      clockMs += minutes * MINUTE;
      return lookAtJudges({ judges: [{ fingerprint: 'f1', judge: 'local/judge' }], startsNewSeries }, store);
    };
    const told = () => [...events.values()].map(({ alert, status }) => `${alert} ${status}`);
    return { look, told, events, acks, store };
  }

  it('holds an incident that the judge explains, with both of its events, and opens one of the judge', async () => {
    const { look, told, events } = openStore(anchorRows(60, 0.4), [waiting, buildEndEvent(waiting, nowMs)]);
    const { incidents, decided } = await look();
    expect(told()).toEqual(['ScoreDrift firing', 'ScoreDrift resolved', 'JudgeDrift firing']);
    expect(incidents.map(({ alert }) => alert)).toEqual(['JudgeDrift']);
    expect(decided.map(({ alert }) => alert)).toEqual(['ScoreDrift', 'ScoreDrift']);
    const [begin, end, drift] = [...events.values()];
    for (const event of [begin, end]) {
      expect(event).toMatchObject({ held: true, labels: { cause: 'judge' }, culprit: { who: 'judge' } });
    }
    expect(drift).toMatchObject({
      labels: { scorer: 'grounding', judge: 'local/judge' },
      series: { scorer: 'grounding' },
      count: 60,
    });
    expect(drift?.after).toBeCloseTo(0.5);
  });

  it('blames the judge for its verdicts since it changed, also where the bucket of the change began with others', async () => {
    const calm = anchorRows(59, 0);
    const strict = anchorRows(50, 0.4)
      .filter(({ first }) => !first)
      .map((row) => ({ ...row, atMs: row.atMs + 60 * MINUTE }));
    const fallsAfterAnHour = (minute: number) => (minute < 60 ? 0.9 : 0.5);
    const { look, events } = openStore([...calm, ...strict], [waiting], fallsAfterAnHour);
    await look();
    const decided = events.get(waiting.id);
    expect(decided?.culprit).toMatchObject({ who: 'judge', judge: { n: 50 } });
    expect(decided?.culprit?.judge?.after).toBeCloseTo(0.5);
  });

  it('lets the incident of an agent pass, with a label and the numbers of the judge', async () => {
    const { look, told, events } = openStore(anchorRows(60, 0));
    await look();
    expect(told()).toEqual(['ScoreDrift firing']);
    expect([...events.values()][0]).toMatchObject({
      labels: { severity: 'page', cause: 'agent' },
      culprit: { who: 'agent', judge: { n: 60 } },
    });
    expect([...events.values()][0]?.held).toBeUndefined();
  });

  it('waits for judgings until the deadline, and then says that it does not know', async () => {
    const { look, events } = openStore(anchorRows(0, 0));
    await look(14);
    expect(events.get(waiting.id)?.culprit?.who).toBe('deciding');
    await look(1);
    expect(events.get(waiting.id)).toMatchObject({ labels: { cause: 'unknown' } });
  });

  it('gives one judge one incident, also when two processes look at once', async () => {
    const { look, told } = openStore(anchorRows(60, 0.4));
    await Promise.all([look(), look()]);
    await look(1);
    expect(told().filter((text) => text.startsWith('JudgeDrift'))).toEqual(['JudgeDrift firing']);
  });

  it('ends the incident of a judge whose change is accepted, by a person or at once, and forgets its anchors', async () => {
    const rows = anchorRows(60, 0.4);
    const { look, told, store } = openStore(rows);
    await look(0, true);
    await look(1);
    expect(told()).toEqual(['ScoreDrift firing', 'JudgeDrift firing', 'JudgeDrift resolved']);
    const [set] = buildAnchorSets(rows, (await store.alerts.judgeWork(0)).drifts);
    expect(set).toMatchObject({ firsts: [], judgings: [], open: null });
  });

  it('ends the incident of a judge that no rule asks any more', async () => {
    const { look, told, store } = openStore(anchorRows(60, 0.4));
    await look();
    await lookAtJudges({ judges: [], startsNewSeries: false }, store);
    expect(told()).toContain('JudgeDrift resolved');
  });

  it.each([
    ['learning, with too few judgings', 5, 0, 'learning'],
    ['as before', 60, 0, 'ok'],
    ['changed', 60, 0.4, 'drifted'],
  ])('shows a judge as %s', async (_name, judgings, lower, state) => {
    const rows = anchorRows(judgings, lower);
    const { look, store } = openStore(rows, []);
    await look();
    const sets = buildAnchorSets(rows, (await store.alerts.judgeWork(0)).drifts);
    const labelled = [{ tenant: '', scorer: 'grounding', traceId: 't3' }];
    const [standing] = describeAnchors(sets, { size: SIZE, labelled, thresholds: judgeThresholds(1) });
    expect(standing).toMatchObject({ size: SIZE, labelled: 1, judged: judgings, state });
    expect(standing?.change).toBeCloseTo(-lower);
  });
});
