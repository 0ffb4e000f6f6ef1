import { z } from 'zod';
import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { AppError } from '../domain/errors.ts';
import { joinPair, type Claims } from '../ownership/ownership.ts';
import { formatReason, readReasonCode } from '../scoring/attempt/attempt-failure.ts';
import { createReadLimits, type Scoring } from '../scoring/scoring.ts';
import { redoMode, type ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { findSessionKeys } from '../scoring/sessions/select-sessions.ts';
import type { SessionSettings } from '../scoring/sessions/score-session.ts';
import type { TraceOutcome } from '../scoring/trace-task.ts';
import type { Job, JobProgress } from '../store/contracts/jobs.ts';
import { joinTraceKey, type RepairQuery } from '../store/contracts/stores.ts';
import type { RepairStore } from '../store/tables/decisions.ts';
import { beginJob, type JobKind, type JobRun } from './job-kind.ts';
import {
  addResult,
  findForeignScorer,
  JobPlace,
  readRescoreReport,
  readRescoreSpec,
  RESCORE,
  type RescoreReport,
  type RescoreResult,
  type RescoreSpec,
} from './stored-job.ts';
import { createSessionTargets, createTraceTargets, nameRow, nameTargetOf } from './targets.ts';

/** Codes of deferred decisions that are about the target itself: its judge works for others. */
const OF_THE_TARGET: ReadonlySet<string> = new Set(['judge_malformed', 'judge_window']);

/** Most traces of one page. After a kill, only work of one page may be done again. */
const PAGE = 100;

export interface RescoreDeps {
  readonly scoring: Scoring;
  readonly repairs: RepairStore;
  readonly rules: readonly PreparedRule[];
  readonly sessions: SessionSettings;
  /** Computes a keyed hash of a text, in hex: the checkpoint holds no ids. */
  readonly hide: (text: string) => string;
  /** See `beginJob`. */
  readonly settleMs?: number | undefined;
}

/**
 * Creates the kind of job that runs scorers again: those of failed decisions, or one scorer on all that it has scored. Every decision
 * keeps its source and its sampling.
 */
export function rescoreKind(deps: RescoreDeps): JobKind {
  return {
    name: RESCORE,
    refuse: (job) => findForeignScorer(readRescoreSpec(job.spec).fingerprints, deps.rules),
    run: (job, run) => new Rescore(deps, job, run).run(),
  };
}

const Checkpoint = JobPlace.extend({
  /** Hash of the key of all hashes in the place. */
  keyId: z.string(),
  /** Hashes of decisions of the next page that are counted. */
  settled: z.array(z.string()).readonly(),
});
type Checkpoint = Readonly<z.infer<typeof Checkpoint>>;

class Rescore {
  readonly #deps: RescoreDeps;
  readonly #spec: RescoreSpec;
  readonly #job: Job;
  readonly #run: JobRun;
  readonly #readLimits = createReadLimits();
  #checkpoint: Checkpoint;
  #report: RescoreReport;
  #costUsd: number;

  constructor(deps: RescoreDeps, job: Job, run: JobRun) {
    this.#deps = deps;
    this.#job = job;
    this.#run = run;
    this.#spec = readRescoreSpec(job.spec);
    this.#report = readRescoreReport(job.report);
    this.#costUsd = job.costUsd;
    this.#checkpoint = { begunMs: 0, phase: 'traces', after: null, keyId: deps.hide('key'), settled: [] };
  }

  async run(): Promise<JobProgress> {
    await this.#begin();
    try {
      while (this.#checkpoint.phase !== 'done') {
        await this.#run.check();
        await this.#rescorePage();
      }
    } finally {
      await this.#deps.scoring.budget.giveBack();
    }
    return this.#progress();
  }

  /** Continues from the stored place, or begins. Counts what an interrupted page has done. */
  async #begin(): Promise<void> {
    const isNew = this.#job.checkpoint === null;
    if (isNew) {
      const begunMs = await beginJob(this.#deps.scoring.stores.spans, this.#run, this.#deps.settleMs);
      this.#checkpoint = { ...this.#checkpoint, begunMs };
    } else {
      const stored = Checkpoint.parse(this.#job.checkpoint);
      const { keyId } = this.#checkpoint;
      // With another key, the order is another one: all is looked at again. What has a new score is not scored again.
      this.#checkpoint =
        stored.keyId === keyId ? stored : { ...stored, phase: 'traces', after: null, keyId, settled: [] };
    }
    const remaining = (await this.#count()) - this.#checkpoint.settled.length;
    const uncounted = isNew ? 0 : Math.max(0, this.#report.remaining - remaining);
    this.#report = { ...this.#report, remaining, uncounted: this.#report.uncounted + uncounted };
    await this.#run.save(this.#progress());
  }

  async #count(): Promise<number> {
    const { phase } = this.#checkpoint;
    const { repairs } = this.#deps;
    const query = this.#query();
    const sessions = { ...query, ofSessions: true, after: null };
    const queries = { traces: [query, sessions], sessions: [query], done: [] }[phase];
    const counts = await Promise.all(queries.map((each) => repairs.count(each)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  #query(): RepairQuery {
    const { phase, after } = this.#checkpoint;
    const { scorer, sinceMs } = this.#spec;
    return {
      status: scorer === null ? 'failed' : 'scored',
      scorer: scorer ?? undefined,
      sinceMs: sinceMs ?? 0,
      ofSessions: phase === 'sessions',
      orderKey: this.#deps.hide('order').slice(0, 32),
      after,
    };
  }

  async #rescorePage(): Promise<void> {
    const page = await this.#deps.repairs.read(this.#query(), PAGE);
    const settled = new Set(this.#checkpoint.settled);
    const rows = page.decisions.filter((row) => !settled.has(this.#hideRow(row)));
    const ours = rows.filter(({ rule, scorer }) => this.#isKnown(rule, scorer));
    const outcomes = ours.length === 0 ? new Map<string, TraceOutcome>() : await this.#score(ours);
    const broken = [...outcomes.values()].find(({ error }) => error !== null)?.error;
    if (broken) {
      throw broken;
    }
    const decisions = [...outcomes.values()].flatMap((outcome) => outcome.decisions);
    const newRows = new Map(decisions.map((row) => [nameRow(row), row]));
    const results = rows.map((row): [Decision, RescoreResult] => [
      row,
      ours.includes(row) ? findResult(row, outcomes.get(nameTargetOf(row)), newRows) : REMOVED,
    ]);
    const passing = results.find(([row, result]) => isPassing(row, result))?.[1];
    const counted = results.filter(([row, result]) => !isPassing(row, result));
    const units = new Set(counted.map(([row]) => nameTargetOf(row)));
    const isLast = passing === undefined && this.#next(page.after).phase === 'done';
    const report = counted.reduce((sum, [, result]) => addResult(sum, result), {
      ...this.#report,
      matched: this.#report.matched + units.size,
    });
    // Live scoring adds and replaces decisions meanwhile.
    this.#report = isLast ? { ...report, remaining: 0 } : report;
    this.#costUsd += decisions.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
    this.#checkpoint =
      passing === undefined
        ? this.#next(page.after)
        : { ...this.#checkpoint, settled: [...settled, ...counted.map(([row]) => this.#hideRow(row))] };
    await this.#run.save(this.#progress());
    if (passing !== undefined && 'detail' in passing) {
      throw new AppError(passing.detail, { code: 'judge_unavailable', stage: 'judge', retryable: true });
    }
  }

  #hideRow(row: Decision): string {
    return this.#deps.hide(nameRow(row));
  }

  #next(after: string | null): Checkpoint {
    const { begunMs, phase, keyId } = this.#checkpoint;
    const then = phase === 'traces' ? 'sessions' : 'done';
    return { begunMs, phase: after === null ? then : phase, after, keyId, settled: [] };
  }

  #isKnown(rule: string, scorer: string): boolean {
    const scorers = this.#spec.fingerprints[rule] ?? {};
    return scorer === WHOLE_RULE ? Object.keys(scorers).length > 0 : Object.hasOwn(scorers, scorer);
  }

  /** Scores the traces or sessions of a page. Only the scorers of these decisions run, and no earlier answer of a judge is used. */
  async #score(rows: readonly Decision[]): Promise<Map<string, TraceOutcome>> {
    const { scoring } = this.#deps;
    const signals = [this.#run.signal, ...(scoring.signal === undefined ? [] : [scoring.signal])];
    const own: Scoring = {
      ...scoring,
      ...this.#readLimits,
      claims: this.#claim(rows),
      judgeScope: { ...scoring.judgeScope, cache: undefined },
      signal: AbortSignal.any(signals),
    };
    const mode = this.#mode(rows);
    const outcomes = new Map<string, TraceOutcome>();
    const isOfSessions = this.#checkpoint.phase === 'sessions';
    const traces = rows.map(
      ({ tenant, traceId }) => [joinTraceKey({ tenant, traceId }), { tenant, traceId }] as const,
    );
    const keys = isOfSessions ? await findSessionKeys(scoring.stores.sessions, rows) : new Map(traces);
    const targets = isOfSessions
      ? createSessionTargets(own, mode, this.#deps.sessions)
      : createTraceTargets(own, mode);
    await targets.score([...keys.values()], (name, outcome) => outcomes.set(name, outcome));
    return outcomes;
  }

  #mode(rows: readonly Decision[]): ScoringMode {
    const names = new Set(rows.map(nameRow));
    const { status } = this.#query();
    return redoMode(this.#deps.rules, {
      sinceMs: this.#checkpoint.begunMs,
      selects: (row) => row !== undefined && row.status === status && names.has(nameRow(row)),
    });
  }

  /** Creates claims on the scorers of these decisions. They end with the lease of the job. */
  #claim(rows: readonly Decision[]): Claims {
    const pairs = Map.groupBy(rows, nameTargetOf);
    return {
      claim: (key) => {
        const ours = new Set(pairs.get(joinTraceKey(key))?.map(({ rule, scorer }) => joinPair(rule, scorer)));
        return {
          key,
          owns: (rule, scorer) => ours.has(joinPair(rule, scorer)) || ours.has(joinPair(rule, WHOLE_RULE)),
          check: () => this.#run.check(),
        };
      },
    };
  }

  #progress(): JobProgress {
    return { checkpoint: this.#checkpoint, report: { ...this.#report }, costUsd: this.#costUsd };
  }
}

const REMOVED: RescoreResult = {
  kind: 'skipped',
  code: 'rule_removed',
  detail: 'the configuration no longer has the scorer in this rule',
};

/** Reads what became of a decision. `outcome` is that of its trace or session; undefined when no spans of it are stored. */
function findResult(
  row: Decision,
  outcome: TraceOutcome | undefined,
  rows: ReadonlyMap<string, Decision>,
): RescoreResult {
  const now = rows.get(nameRow(row));
  if (now !== undefined) {
    return readResult(now);
  }
  if (outcome !== undefined && outcome.waitUntilMs !== null) {
    return skip('arriving', 'spans still arrive: live scoring decides it');
  }
  if (outcome === undefined || outcome.activity === null) {
    return skip('evidence_gone', 'the spans are no longer stored');
  }
  return skip('unchanged', 'another process decided it meanwhile');
}

function readResult({ status, reason }: Decision): RescoreResult {
  if (status === 'failed' || status === 'deferred') {
    return { kind: status, code: readReasonCode(reason), detail: reason };
  }
  return { kind: status === 'scored' ? 'scored' : 'notApplicable' };
}

function skip(code: string, detail: string): RescoreResult {
  return { kind: 'skipped', code, detail: formatReason(code, detail) };
}

/**
 * Returns true for a scored decision whose scorer waits for its judge or for money: nothing but this repair tries it again. A reply of
 * the judge that cannot be used, or a question that is too long for it, is no reason to wait.
 */
function isPassing(row: Decision, result: RescoreResult): boolean {
  return row.status === 'scored' && result.kind === 'deferred' && !OF_THE_TARGET.has(result.code);
}
