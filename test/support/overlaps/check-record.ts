import {
  type Delivery,
  type Disturbance,
  EXPORTERS,
  type FleetRecord,
  joinExport,
  type RecordedCall,
  type RecordedRule,
} from './fleet-record.ts';

/** Time that a due retry may wait for the next tick of a scorer, milliseconds. */
const OVERDUE_AFTER_MS = 15_000;
/** Share of questions that may be asked twice without a fault: two owners of a trace for a moment. */
const REPEATED_SHARE = 0.05;
/** Time around a disturbance in which work counts as interrupted, milliseconds. */
const CALL_MARGIN_MS = 2_000;
/** A batch of exports is recorded when all of it is delivered. */
const EXPORT_MARGIN_MS = 10_000;
/** Asks again on purpose. */
const ASKS_AGAIN = 'score';

/** The promises, each with a check that returns the ids for which the promise is broken. */
const CHECKS = {
  'every acknowledged span is stored exactly once': findWrongSpans,
  'every scorer of every rule has decided every trace': findUndecided,
  'one score is current for a trace and a scorer': findCompetingScores,
  'every decision of a score has its score': findMissingScores,
  'every score was exported as it is stored': findWrongExports,
  'no score is exported twice without a fault': findRepeatedExports,
  'the judge is asked at most 5 % more than needed': findRepeatedQuestions,
  'no retry is overdue': findOverdue,
  'no process ends by itself': ({ endedAlone }) => [...endedAlone],
  'nothing is left behind': ({ leftBehind }) => [...leftBehind],
} satisfies Record<string, (record: FleetRecord) => string[]>;

type PromiseName = keyof typeof CHECKS;

/** Most ids of a broken promise that are shown. */
const SHOWN_IDS = 8;

/** Broken promises with the first ids for which they are broken. */
export type BrokenPromises = Partial<Record<PromiseName, readonly string[]>>;

/** Checks a record. Returns an empty object when every promise holds. */
export function findBrokenPromises(record: FleetRecord): BrokenPromises {
  const names = Object.keys(CHECKS) as PromiseName[];
  const found = names.map((name) => [name, CHECKS[name](record)] as const);
  return Object.fromEntries(
    found.filter(([, ids]) => ids.length > 0).map(([name, ids]) => [name, shorten(ids)]),
  );
}

function shorten(ids: readonly string[]): string[] {
  const more = ids.length - SHOWN_IDS;
  return [...ids.slice(0, SHOWN_IDS), ...(more > 0 ? [`… and ${more} more`] : [])];
}

/** Counts the decisions and exports that are missing. 0: the fleet has nothing more to do. */
export function countOpenWork(record: FleetRecord): number {
  const deferred = record.decisions.filter(({ status }) => status === 'deferred');
  return findUndecided(record).length + findWrongExports(record).length + deferred.length;
}

function findWrongSpans({ acknowledged, stored }: FleetRecord): string[] {
  return [...acknowledged].flatMap(([traceId, spanIds]) => {
    const read = stored.get(traceId) ?? [];
    const lost = spanIds.filter((spanId) => !read.includes(spanId));
    const surplus = read.length - new Set(spanIds).size + lost.length;
    return lost.length > 0
      ? [`${traceId}: ${lost.length} spans lost`]
      : surplus > 0
        ? [`${traceId}: ${surplus} spans too many`]
        : [];
  });
}

/** Lists the traces without a final decision on their last span by a scorer that was active when the trace arrived. */
function findUndecided(record: FleetRecord): string[] {
  const byTrace = Map.groupBy(record.decisions, ({ traceId }) => traceId);
  return [...record.acknowledged.keys()].flatMap((traceId) => {
    const arrival = record.arrivals.get(traceId);
    if (arrival === undefined) {
      return [`${traceId}: no arrival`];
    }
    const rows = byTrace.get(traceId) ?? [];
    return record.finalRules.flatMap((final) => {
      const own = rows.filter(({ rule }) => rule === final.rule);
      // A verdict on the whole rule decides for all of its scorers.
      if (own.some((row) => row.scorer === '*' && row.status !== 'scored')) {
        return [];
      }
      return listActiveScorers(record, final, arrival.firstMs).flatMap((scorer) => {
        const row = own.find((each) => each.scorer === scorer);
        const fault =
          row === undefined
            ? 'no decision'
            : row.status === 'deferred'
              ? `deferred, ${row.reason.slice(0, 80)}`
              : row.evidenceUntilMs < arrival.lastMs
                ? `decided ${arrival.lastMs - row.evidenceUntilMs} ms before its last span`
                : undefined;
        return fault === undefined ? [] : [`${traceId} ${final.rule} ${scorer}: ${fault}`];
      });
    });
  });
}

/** Lists the scorers of a rule that were active at the first arrival of a trace. */
function listActiveScorers({ ruleVersions }: FleetRecord, final: RecordedRule, firstMs: number): string[] {
  const earlier = ruleVersions.filter(
    ({ rule, activeFromMs }) => rule === final.rule && activeFromMs <= firstMs,
  );
  const isFinal = ({ scorers }: RecordedRule) =>
    scorers.length === final.scorers.length && scorers.every((scorer) => final.scorers.includes(scorer));
  const inForce = earlier.find(isFinal) ?? earlier.at(-1);
  return final.scorers.filter((scorer) => inForce?.scorers.includes(scorer));
}

/** A backfill with another configuration begins another series on purpose, so only live scores compete. */
function findCompetingScores({ scores }: FleetRecord): string[] {
  const live = scores.filter(({ source }) => source === 'live');
  const groups = Map.groupBy(live, ({ traceId, targetId, scorer }) => `${traceId} ${targetId} ${scorer}`);
  return [...groups]
    .filter(([, rows]) => rows.length > 1)
    .map(
      ([key, rows]) => `${key}: fingerprints ${rows.map((row) => row.fingerprint.slice(0, 8)).join(', ')}`,
    );
}

function findMissingScores({ decisions, scores, finalRules }: FleetRecord): string[] {
  const join = (row: { traceId: string; targetId: string; scorer: string; fingerprint: string }) =>
    `${row.traceId} ${row.targetId} ${row.scorer} ${row.fingerprint}`;
  const evidence = new Map(scores.map((score) => [join(score), score.evidenceHash]));
  const rules = new Set(finalRules.map(({ rule }) => rule));
  return decisions
    .filter(({ status, scorer, rule }) => status === 'scored' && scorer !== '*' && rules.has(rule))
    .filter((decision) => evidence.get(join(decision)) !== decision.evidenceHash)
    .map((decision) => {
      const fault = evidence.has(join(decision)) ? 'score of other evidence' : 'no score';
      return `${decision.traceId} ${decision.rule} ${decision.scorer}: ${fault}`;
    });
}

/** True for a delivery that was accepted or refused. */
function isAnswered({ status }: Delivery): boolean {
  return status === 200 || status === 422;
}

function findWrongExports({ scores, deliveries }: FleetRecord): string[] {
  const last = new Map(deliveries.filter(isAnswered).map((each) => [joinExport(each), each.value]));
  return scores.flatMap((score) =>
    EXPORTERS.flatMap((exporter) => {
      const key = joinExport({ exporter, ...score });
      const exported = last.get(key);
      return exported === score.value
        ? []
        : [
            `${key} (${score.traceId} ${score.scorer}): stored ${score.value}, exported ${exported ?? 'never'}`,
          ];
    }),
  );
}

/** A refused score is tried again on purpose, so only accepted deliveries count. */
function findRepeatedExports({ deliveries, disturbances }: FleetRecord): string[] {
  const accepted = deliveries.filter(({ status }) => status === 200);
  const groups = Map.groupBy(accepted, joinExport);
  return [...groups].flatMap(([key, all]) => {
    const repeated = all
      .slice(1)
      .filter((_, earlier) =>
        disturbances.every((each) => !isWithin(all[earlier]?.atMs ?? 0, each, EXPORT_MARGIN_MS)),
      );
    return repeated.length === 0 ? [] : [`${key}: ${repeated.length} times more`];
  });
}

function isWithin(atMs: number, { fromMs, untilMs }: Disturbance, marginMs: number): boolean {
  return atMs >= fromMs - marginMs && atMs <= untilMs + marginMs;
}

/** Lists repeated questions, when they are too many. A question of an attempt that a disturbance interrupted may be repeated. */
function findRepeatedQuestions({ calls, disturbances }: FleetRecord): string[] {
  const usable = calls.filter((call) => call.isUsable && call.process !== ASKS_AGAIN);
  const attempts = Map.groupBy(calls, ({ process, subject }) => `${process} ${subject}`);
  const isInterrupted = ({ process, subject }: RecordedCall) =>
    disturbances.some(
      (each) =>
        (each.process === 'all' || each.process === process) &&
        attempts
          .get(`${process} ${subject}`)
          ?.some(
            (call) =>
              call.startedMs <= each.untilMs + CALL_MARGIN_MS &&
              call.answeredMs >= each.fromMs - CALL_MARGIN_MS,
          ) === true,
    );
  const groups = [...Map.groupBy(usable, ({ question }) => question).values()];
  const repeated = groups.flatMap((all) =>
    all.slice(1).filter((_, earlier) => all[earlier] !== undefined && !isInterrupted(all[earlier])),
  );
  return repeated.length > groups.length * REPEATED_SHARE
    ? repeated.map(({ subject, process }) => `${subject}, again by ${process}`)
    : [];
}

function findOverdue({ decisions, storeNowMs }: FleetRecord): string[] {
  return decisions
    .filter(({ status, nextAttemptMs }) => {
      return status === 'deferred' && (nextAttemptMs ?? 0) < storeNowMs - OVERDUE_AFTER_MS;
    })
    .map(({ traceId, rule, scorer, reason }) => `${traceId} ${rule} ${scorer}: ${reason.slice(0, 80)}`);
}
