import { describe, expect, it } from 'vitest';
import { countOpenWork, findBrokenPromises } from '../../support/overlaps/check-record.ts';
import type {
  Delivery,
  FleetRecord,
  RecordedCall,
  RecordedDecision,
  RecordedScore,
} from '../../support/overlaps/fleet-record.ts';

const TRACES = ['trace-1', 'trace-2'];

function aDecision(more: Partial<RecordedDecision> = {}): RecordedDecision {
  return {
    traceId: 'trace-1',
    targetId: 'trace-1',
    rule: 'quality',
    scorer: 'tone',
    fingerprint: 'print-1',
    status: 'scored',
    reason: '',
    evidenceUntilMs: 1_100,
    evidenceHash: 'evidence-1',
    nextAttemptMs: null,
    ...more,
  };
}

function aScore(more: Partial<RecordedScore> = {}): RecordedScore {
  return {
    scoreId: 'score-trace-1',
    revision: 1,
    traceId: 'trace-1',
    targetId: 'trace-1',
    scorer: 'tone',
    fingerprint: 'print-1',
    evidenceHash: 'evidence-1',
    source: 'live',
    value: 0.5,
    ...more,
  };
}

function aDelivery(more: Partial<Delivery> = {}): Delivery {
  return {
    exporter: 'webhook',
    scoreId: 'score-trace-1',
    revision: 1,
    value: 0.5,
    status: 200,
    atMs: 30_000,
    ...more,
  };
}

function aCall(more: Partial<RecordedCall> = {}): RecordedCall {
  const subject = more.subject ?? 'trace 1 by first';
  return {
    process: 'a',
    question: `is ${subject} kind?`,
    subject,
    startedMs: 30_000,
    answeredMs: 30_100,
    isUsable: true,
    ...more,
  };
}

/** Builds the record of two traces over which every promise holds. */
function aRecord(more: Partial<FleetRecord> = {}): FleetRecord {
  const own = (traceId: string) => ({ traceId, targetId: traceId });
  return {
    acknowledged: new Map(TRACES.map((traceId) => [traceId, ['span-1', 'span-2']])),
    stored: new Map(TRACES.map((traceId) => [traceId, ['span-1', 'span-2']])),
    arrivals: new Map(TRACES.map((traceId) => [traceId, { firstMs: 1_000, lastMs: 1_100 }])),
    finalRules: [{ rule: 'quality', scorers: ['tone'] }],
    ruleVersions: [{ rule: 'quality', scorers: ['tone'], activeFromMs: 500 }],
    decisions: TRACES.map((traceId) => aDecision(own(traceId))),
    scores: TRACES.map((traceId) => aScore({ ...own(traceId), scoreId: `score-${traceId}` })),
    deliveries: TRACES.flatMap((traceId) => [
      aDelivery({ scoreId: `score-${traceId}` }),
      aDelivery({ scoreId: `score-${traceId}`, exporter: 'log' }),
    ]),
    calls: [aCall(), aCall({ subject: 'trace 2 by first' })],
    disturbances: [],
    storeNowMs: 100_000,
    endedAlone: [],
    leftBehind: [],
    ...more,
  };
}

describe('the checks of a fleet', () => {
  it('hold for a record without a fault, in which no work is open', () => {
    expect(findBrokenPromises(aRecord())).toEqual({});
    expect(countOpenWork(aRecord())).toBe(0);
  });

  it.each([
    ['lost', ['span-1'], 'trace-1: 1 spans lost'],
    ['read twice', ['span-1', 'span-2', 'span-2'], 'trace-1: 1 spans too many'],
  ])('find a span that is %s', (_, spanIds, found) => {
    const stored = new Map([...aRecord().stored, ['trace-1', spanIds]]);

    expect(findBrokenPromises(aRecord({ stored }))).toEqual({
      'every acknowledged span is stored exactly once': [found],
    });
  });

  it.each([
    ['missing', [], 'no decision'],
    [
      'deferred',
      [aDecision({ status: 'deferred', nextAttemptMs: 200_000, reason: 'busy' })],
      'deferred, busy',
    ],
    [
      'older than the last span',
      [aDecision({ evidenceUntilMs: 1_000 })],
      'decided 100 ms before its last span',
    ],
  ])('find a decision that is %s', (_, rows, found) => {
    const decisions = [...aRecord().decisions.slice(1), ...rows];
    const record = aRecord({ decisions });

    expect(findBrokenPromises(record)).toEqual({
      'every scorer of every rule has decided every trace': [`trace-1 quality tone: ${found}`],
    });
    expect(countOpenWork(record)).toBeGreaterThan(0);
  });

  it('take a verdict on the whole rule for a decision of each scorer', () => {
    const verdict = aDecision({ scorer: '*', status: 'not_applicable' });
    const decisions = [...aRecord().decisions.slice(1), verdict];

    expect(findBrokenPromises(aRecord({ decisions }))).toEqual({});
  });

  it('expect decisions of a scorer from the time at which its rule was first loaded', () => {
    const finalRules = [{ rule: 'quality', scorers: ['tone', 'bias'] }];
    const first = aRecord().ruleVersions;
    const second = { rule: 'quality', scorers: ['tone', 'bias'] };
    const versions = (activeFromMs: number) => [...first, { ...second, activeFromMs }];

    expect(findBrokenPromises(aRecord({ finalRules, ruleVersions: versions(1_001) }))).toEqual({});
    expect(findBrokenPromises(aRecord({ finalRules, ruleVersions: versions(1_000) }))).toEqual({
      'every scorer of every rule has decided every trace': TRACES.map(
        (traceId) => `${traceId} quality bias: no decision`,
      ),
    });
  });

  it('find two live scores of one trace and scorer, but not a score of a backfill', () => {
    const second = aScore({ scoreId: 'score-second', fingerprint: 'print-2' });
    const scoreId = 'score-second';
    const deliveries = [
      ...aRecord().deliveries,
      aDelivery({ scoreId }),
      aDelivery({ scoreId, exporter: 'log' }),
    ];
    const withScore = (score: RecordedScore) =>
      findBrokenPromises(aRecord({ scores: [...aRecord().scores, score], deliveries }));

    expect(withScore(second)).toEqual({
      'one score is current for a trace and a scorer': [
        'trace-1 trace-1 tone: fingerprints print-1, print-2',
      ],
    });
    expect(withScore({ ...second, source: 'backfill' })).toEqual({});
  });

  it.each([
    ['no score', [], 'no score'],
    ['a score of other evidence', [aScore({ evidenceHash: 'evidence-2' })], 'score of other evidence'],
  ])('find a scored decision with %s', (_, rows, found) => {
    const scores = [...aRecord().scores.slice(1), ...rows];

    expect(findBrokenPromises(aRecord({ scores }))).toEqual({
      'every decision of a score has its score': [`trace-1 quality tone: ${found}`],
    });
  });

  it.each([
    ['never accepted', [aDelivery({ status: 500 })], 'never'],
    ['last exported with another value', [aDelivery({ value: 0.7 })], '0.7'],
    ['exported in another revision', [aDelivery({ revision: 2 })], 'never'],
  ])('find a score that was %s', (_, rows, found) => {
    const deliveries = [...aRecord().deliveries.slice(1), ...rows];
    const record = aRecord({ deliveries });

    expect(findBrokenPromises(record)).toEqual({
      'every score was exported as it is stored': [
        `webhook score-trace-1.1 (trace-1 tone): stored 0.5, exported ${found}`,
      ],
    });
    expect(countOpenWork(record)).toBeGreaterThan(0);
  });

  it('take a score that the receiver refuses, once or more often, for exported', () => {
    const refused = aDelivery({ status: 422 });
    const deliveries = [...aRecord().deliveries.slice(1), refused, refused];

    expect(findBrokenPromises(aRecord({ deliveries }))).toEqual({});
  });

  it('find a repeated export, unless the first one was close to a disturbance', () => {
    const deliveries = [...aRecord().deliveries, aDelivery({ atMs: 60_000 })];
    const after = (fromMs: number) =>
      aRecord({ deliveries, disturbances: [{ process: 'a', fromMs, untilMs: fromMs + 1_000 }] });

    expect(findBrokenPromises(after(35_000))).toEqual({});
    expect(findBrokenPromises(after(60_000))).toEqual({
      'no score is exported twice without a fault': ['webhook score-trace-1.1: 1 times more'],
    });
  });

  it('find a question that was asked twice, unless a disturbance of its process interrupted the first attempt', () => {
    const calls = [...aRecord().calls, aCall({ process: 'b', startedMs: 40_000, answeredMs: 40_100 })];
    const disturbed = (process: string) =>
      aRecord({ calls, disturbances: [{ process, fromMs: 30_500, untilMs: 31_000 }] });
    const broken = {
      'the judge is asked at most 5 % more than needed': ['trace 1 by first, again by b'],
    };

    expect(findBrokenPromises(aRecord({ calls }))).toEqual(broken);
    expect(findBrokenPromises(disturbed('b'))).toEqual(broken);
    expect(findBrokenPromises(disturbed('a'))).toEqual({});
    expect(findBrokenPromises(disturbed('all'))).toEqual({});
  });

  it('allow a repeated question in twenty, faulty replies, and questions of the command score', () => {
    const asked = Array.from({ length: 20 }, (_, n) => aCall({ subject: `trace ${n} by first` }));
    const check = (more: Partial<RecordedCall>[]) =>
      findBrokenPromises(aRecord({ calls: [...asked, ...more.map((each) => aCall(each))] }));
    const again = { subject: 'trace 1 by first' };

    expect(check([again])).toEqual({});
    expect(check([again, { ...again, isUsable: false }, { ...again, process: 'score' }])).toEqual({});
    expect(Object.keys(check([again, again]))).toEqual(['the judge is asked at most 5 % more than needed']);
  });

  it('find a retry that is overdue, also of a rule that the configuration no longer has', () => {
    const gone = aDecision({ rule: 'gone', status: 'deferred', reason: 'busy' });
    const dueAt = (nextAttemptMs: number | null) =>
      findBrokenPromises(aRecord({ decisions: [...aRecord().decisions, { ...gone, nextAttemptMs }] }));
    const broken = { 'no retry is overdue': ['trace-1 gone tone: busy'] };

    expect(dueAt(90_000)).toEqual({});
    expect(dueAt(80_000)).toEqual(broken);
    expect(dueAt(null)).toEqual(broken);
  });

  it('find ends of processes and leftovers', () => {
    expect(findBrokenPromises(aRecord({ endedAlone: ['a'], leftBehind: ['engine 7'] }))).toEqual({
      'no process ends by itself': ['a'],
      'nothing is left behind': ['engine 7'],
    });
  });

  it('show the first ids of a broken promise, and the number of the others', () => {
    const endedAlone = Array.from({ length: 10 }, (_, n) => `process ${n}`);

    expect(findBrokenPromises(aRecord({ endedAlone }))['no process ends by itself']?.slice(-2)).toEqual([
      'process 7',
      '… and 2 more',
    ]);
  });
});
