import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import { readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { Score, ScoreSource } from '../domain/score.ts';
import type { SelectedPage } from './selection.ts';
import { addSkipped, countRows, SKIPPED, type BackfillCounts } from './stored-job.ts';
import { nameRow, nameTarget, nameTargetOf, type JobTargets, type TargetKey } from './targets.ts';

/** Default of `retryWaitsMs`. */
export const RETRY_WAITS_MS: readonly number[] = [1_000, 3_000, 9_000];

export interface PageTerms {
  /** Begin of the job by the store's clock, Unix milliseconds. */
  readonly begunMs: number;
  /** Returns true when the money of the backfill is spent. */
  readonly isSpent: () => boolean;
  /** Throws when this process must not write for the job any more. */
  readonly check: () => Promise<void>;
  readonly signal: AbortSignal;
  /** Waits before scorers that wait for their judge are tried again, milliseconds. */
  readonly retryWaitsMs: readonly number[];
  /** Returns true for the source of a score that the backfill may have written. */
  readonly isOurs: (source: ScoreSource) => boolean;
  /** Called with the pairs of each target as soon as it is done. */
  readonly onPairs: (pairs: BackfillCounts) => void;
}

/**
 * Scores the targets of a page, and counts all its pairs from the stored decisions. So the counts are exact after an interruption,
 * too. Throws a retryable `AppError` while a scorer cannot reach its judge at all, and what `check` throws.
 */
export async function scorePage(
  targets: JobTargets,
  { taken, fresh, decisions, arriving, owed }: SelectedPage,
  terms: PageTerms,
): Promise<BackfillCounts> {
  const pairs = countPairs(targets.rules);
  const isRefused =
    targets.rules.length > 0 &&
    terms.isSpent() &&
    targets.rules.every(({ scorers }) => scorers.every((each) => each.isJudged));
  const outcomes = isRefused ? new Map<string, TraceOutcome>() : await scoreTargets(targets, taken, terms);
  const { yes: scoredKeys = [], no: undecidedKeys = [] } = Object.groupBy(taken, (key) =>
    isDecided(outcomes.get(nameTarget(key))) ? 'yes' : 'no',
  );
  const isStored = (key: TargetKey) =>
    !fresh.has(key) || !hasAllRows(targets.rules, outcomes.get(nameTarget(key)));
  const rows = [...decisions, ...(await readRows(targets, scoredKeys, { outcomes, isStored }))];
  const newScores = await findNewScores(targets, rows, outcomes, terms);
  const countTerms = {
    rules: targets.rules,
    begunMs: terms.begunMs,
    isSpent: terms.isSpent(),
    isNewScore: (row: Decision) => newScores.has(nameScore(row)),
  };
  const undecided = undecidedKeys.map((key) => outcomes.get(nameTarget(key)));
  return [
    [SKIPPED.arriving, arriving],
    [SKIPPED.leftToLive, owed],
    ...undecided.map((outcome) => [explainUndecided(outcome, isRefused), 1] as const),
  ].reduce(
    (counts, [code, count]) => addSkipped(counts, code as string, pairs * (count as number)),
    countRows(rows, countTerms),
  );
}

function nameScore({
  tenant,
  targetId,
  fingerprint,
}: Pick<Score, 'tenant' | 'targetId' | 'fingerprint'>): string {
  return JSON.stringify([tenant, targetId, fingerprint]);
}

export function countPairs(rules: readonly PreparedRule[]): number {
  return rules.reduce((sum, { scorers }) => sum + scorers.length, 0);
}

function isDecided(outcome: TraceOutcome | undefined): boolean {
  return outcome !== undefined && outcome.waitUntilMs === null && outcome.activity !== null;
}

function explainUndecided(outcome: TraceOutcome | undefined, isRefused: boolean): string {
  return isRefused ? SKIPPED.maxCost : outcome?.waitUntilMs == null ? SKIPPED.gone : SKIPPED.arriving;
}

/** Scores targets, and again those whose scorers wait for their judge. */
async function scoreTargets(
  targets: JobTargets,
  taken: readonly TargetKey[],
  terms: PageTerms,
): Promise<Map<string, TraceOutcome>> {
  const outcomes = new Map<string, TraceOutcome>();
  let keys = taken;
  for (const waitMs of [0, ...terms.retryWaitsMs]) {
    if (waitMs > 0) {
      await sleep(waitMs, terms.signal);
    }
    await targets.score(keys, (name, outcome) => {
      outcomes.set(name, outcome);
      terms.onPairs(countOutcome(targets.rules, outcome, terms));
    });
    await terms.check();
    keys = taken.filter((key) => isWaiting(outcomes.get(nameTarget(key)), terms));
    if (keys.length === 0) {
      break;
    }
    const waiting = keys.flatMap((key) => outcomes.get(nameTarget(key)) ?? []);
    rejectAway(
      waiting.flatMap((outcome) => listWaiting(outcome, terms)),
      [...outcomes.values()],
    );
  }
  const broken = [...outcomes.values()].find(({ error }) => error !== null)?.error;
  if (broken) {
    throw broken;
  }
  return outcomes;
}

function countOutcome(
  rules: readonly PreparedRule[],
  outcome: TraceOutcome,
  terms: PageTerms,
): BackfillCounts {
  const names = new Set(outcome.scores.map(nameScore));
  return countRows(outcome.decisions, {
    rules,
    begunMs: terms.begunMs,
    isSpent: terms.isSpent(),
    isNewScore: (row) => names.has(nameScore(row)),
  });
}

/** Returns true for a target whose pass broke off, or with a scorer that waits for something else than money of the backfill. */
function isWaiting(outcome: TraceOutcome | undefined, terms: PageTerms): boolean {
  return outcome !== undefined && (outcome.error !== null || listWaiting(outcome, terms).length > 0);
}

/** Lists the decisions of scorers that are worth another try soon. */
function listWaiting({ decisions }: TraceOutcome, { isSpent }: PageTerms): Decision[] {
  return decisions.filter(({ status, reason }) => {
    const code = readReasonCode(reason);
    return status === 'deferred' && !(isSpent() && code === 'budget_exhausted');
  });
}

/** Throws when a scorer waits on several targets and has scored none: its judge is away, and the job waits for it. */
function rejectAway(deferred: readonly Decision[], all: readonly TraceOutcome[]): void {
  const scored = new Set(all.flatMap(({ scores }) => scores.map(({ fingerprint }) => fingerprint)));
  const away = [...Map.groupBy(deferred, ({ fingerprint }) => fingerprint)].find(
    ([fingerprint, rows]) => rows.length > 1 && !scored.has(fingerprint),
  );
  const [row] = away?.[1] ?? [];
  if (row !== undefined) {
    throw new AppError(`the scorer ${row.scorer} waits: ${row.reason}`, {
      code: 'judge_unavailable',
      stage: 'judge',
      retryable: true,
    });
  }
}

/** Returns true when a pass has decided all scorers of all rules: then no row of another pass counts. */
function hasAllRows(rules: readonly PreparedRule[], outcome: TraceOutcome | undefined): boolean {
  const decided = new Set(outcome?.decisions.map(({ rule, scorer }) => JSON.stringify([rule, scorer])));
  const isThere = (rule: string, scorer: string) => decided.has(JSON.stringify([rule, scorer]));
  return rules.every(
    ({ name, scorers }) => isThere(name, WHOLE_RULE) || scorers.every((scorer) => isThere(name, scorer.name)),
  );
}

interface PagePasses {
  readonly outcomes: ReadonlyMap<string, TraceOutcome>;
  /** Returns true for a target that may have rows of an earlier pass. */
  readonly isStored: (key: TargetKey) => boolean;
}

/** Returns the decisions of the rules, read where needed. A scorer that failed in a rescore leaves the stored row of before. */
async function readRows(
  targets: JobTargets,
  keys: readonly TargetKey[],
  { outcomes, isStored }: PagePasses,
): Promise<Decision[]> {
  const names = new Set(targets.rules.map(({ name }) => name));
  const toRead = keys.filter(isStored);
  const stored = toRead.length === 0 ? [] : await targets.readRows(toRead);
  const ofKeys = new Set(keys.map((key) => nameTarget(key)));
  const now = keys.flatMap((key) => outcomes.get(nameTarget(key))?.decisions ?? []);
  const rows = [...stored, ...now].filter((row) => names.has(row.rule) && ofKeys.has(nameTargetOf(row)));
  return [...new Map(rows.map((row) => [nameRow(row), row])).values()];
}

/** Finds the scores that this job has computed, also in a pass that was interrupted before its decisions were stored. */
async function findNewScores(
  targets: JobTargets,
  rows: readonly Decision[],
  outcomes: ReadonlyMap<string, TraceOutcome>,
  { begunMs, isOurs }: PageTerms,
): Promise<ReadonlySet<string>> {
  const names = new Set([...outcomes.values()].flatMap(({ scores }) => scores.map(nameScore)));
  const unclear = rows.filter(
    (row) => row.status === 'scored' && row.decidedAt >= begunMs && !names.has(nameScore(row)),
  );
  const stored = unclear.length === 0 ? [] : await targets.readScores(unclear);
  for (const score of stored.filter(({ scoredAt, source }) => scoredAt >= begunMs && isOurs(source))) {
    names.add(nameScore(score));
  }
  return names;
}
