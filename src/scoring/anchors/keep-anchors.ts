import type { AnchorRow } from '../../domain/anchor.ts';
import { directScore } from '../../domain/agreement/directed-score.ts';
import { HOUR_MS } from '../../domain/durations.ts';
import { allSettled } from '../../domain/waits.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { seriesStartMs } from '../../monitors/anchor-sets.ts';
import type { AlertStore } from '../../store/monitors/alert-events.ts';
import type { MarkerStore } from '../../store/monitors/deploy-markers.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import type { AnchorStore } from '../../store/tables/anchors.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../../process/parts.ts';
import { buildCallRecord } from '../record/record-attempt.ts';
import { createLookScoring, createReadLimits, type Scoring } from '../scoring.ts';
import { apiMode } from '../scoring-mode.ts';
import { scoreTraces } from '../score-traces.ts';
import type { PreparedRule, PreparedScorer } from '../select/rule.ts';

/** Interval of the looks, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Time between two searches for runs that can become anchors, and between two counts of the runs of judges, milliseconds. */
const SEARCH_EVERY_MS = 10_000;
const COUNT_EVERY_MS = 30_000;

/** Judgings of one scorer at the same time, and in one look. */
const AT_ONCE = 4;
const PER_LOOK = 20;

export interface AnchorSettings {
  readonly size: number;
  readonly share: number;
  readonly perHour: { readonly min: number; readonly max: number };
  /** Age from which the spans of an anchor may be gone, milliseconds: another run takes its place. */
  readonly maxAgeMs: number;
}

/** A process's scoring, with its rules, as they are at present. */
export interface AnchorSource {
  readonly scoring: Scoring;
  readonly rules: readonly PreparedRule[];
  readonly settings: AnchorSettings;
}

export interface AnchorKeepStore {
  readonly anchors: Pick<AnchorStore, 'since' | 'write' | 'candidates' | 'judgedRuns'>;
  readonly alerts: Pick<AlertStore, 'judgeWork'>;
  readonly markers: Pick<MarkerStore, 'record'>;
  nowMs(): Promise<number>;
}

/**
 * Starts to keep anchors: runs whose judge is asked again and again about the same evidence, at a steady share of its work, past the cache of
 * replies and within the budgets. Their scores are no scores of the traffic: they are stored as judgings alone. An incident that waits for
 * the verdict who changed asks for the rest of the hour at once. All is read from the store again in each look. Another model behind the
 * name of a judge is marked like a deploy.
 */
export function startAnchors(
  source: () => AnchorSource,
  store: AnchorKeepStore,
  deps: DutyDeps,
): StartedPart {
  let keeper = new AnchorKeeper(store);
  const work = (signal: AbortSignal) => keeper.look(source(), signal);
  const onIdle = () => {
    keeper = new AnchorKeeper(store);
  };
  const failing = 'judges are not asked about their anchors';
  return startRepeatedDuty({ duty: 'anchors', everyMs: LOOK_EVERY_MS, failing, work, onIdle }, deps);
}

/** A scorer of a rule that asks a judge about whole runs. */
interface JudgedScorer {
  readonly rule: PreparedRule;
  readonly bound: PreparedScorer;
}

/** Lists the scorers of rules that ask a judge about whole runs; each version once. */
export function listJudgedScorers(rules: readonly PreparedRule[]): JudgedScorer[] {
  const all = rules
    .filter(({ target }) => target === 'trace')
    .flatMap((rule) => rule.scorers.map((bound) => ({ rule, bound })))
    .filter(({ bound }) => bound.isJudged && bound.judgeModel !== '');
  return [...new Map(all.map((each) => [each.bound.fingerprint, each])).values()];
}

interface JudgingTerms {
  readonly settings: AnchorSettings;
  /** True: an incident waits for the verdict. */
  readonly isAsked: boolean;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

/** Time by which something was done last, by the store's clock. */
type Times = Map<string, number>;

/** Keeps the anchors of a process's scorers. */
export class AnchorKeeper {
  readonly #store: AnchorKeepStore;
  readonly #searchedMs: Times = new Map();
  /** Last try of each anchor, which may have brought no score. */
  readonly #triedMs: Times = new Map();
  /** Markers of models of judges, also those that are being stored: a repeated one changes nothing. */
  readonly #marked = new Map<string, Promise<void>>();
  #judgedRuns: ReadonlyMap<string, number> = new Map();
  #countedMs = Number.NEGATIVE_INFINITY;

  constructor(store: AnchorKeepStore) {
    this.#store = store;
  }

  /** Freezes runs where anchors are missing, and asks the judges that are due. */
  async look({ scoring, rules, settings }: AnchorSource, signal: AbortSignal): Promise<void> {
    const scorers = settings.size === 0 ? [] : listJudgedScorers(rules);
    if (scorers.length === 0) {
      return;
    }
    const { anchors, alerts } = this.#store;
    const nowMs = await this.#store.nowMs();
    const [rows, { drifts, deciding }] = await Promise.all([
      anchors.since(nowMs - settings.maxAgeMs),
      alerts.judgeWork(nowMs - HOUR_MS),
    ]);
    if (nowMs - this.#countedMs >= COUNT_EVERY_MS) {
      this.#judgedRuns = await anchors.judgedRuns(nowMs - HOUR_MS);
      this.#countedMs = nowMs;
    }
    const asked = new Set(deciding.map(({ series }) => series.fingerprint));
    // The next look must not begin while a scorer is asked.
    await allSettled(
      scorers.map(async (scorer) => {
        const { fingerprint } = scorer.bound;
        const sinceMs = Math.max(seriesStartMs(drifts, fingerprint), nowMs - settings.maxAgeMs);
        const own = rows.filter((row) => row.fingerprint === fingerprint && row.atMs >= sinceMs);
        const frozen = await this.#freeze(scorer, own, { sinceMs, nowMs, size: settings.size });
        const isAsked = asked.has(fingerprint);
        await this.#judge(scoring, scorer, [...own, ...frozen], { settings, isAsked, nowMs, signal });
      }),
    );
  }

  async #freeze(
    { bound: { fingerprint } }: JudgedScorer,
    rows: readonly AnchorRow[],
    { sinceMs, nowMs, size }: { readonly sinceMs: number; readonly nowMs: number; readonly size: number },
  ): Promise<AnchorRow[]> {
    const missing = size - listAnchors(rows).length;
    if (missing <= 0 || nowMs - (this.#searchedMs.get(fingerprint) ?? 0) < SEARCH_EVERY_MS) {
      return [];
    }
    this.#searchedMs.set(fingerprint, nowMs);
    const found = await this.#store.anchors.candidates({ fingerprint, sinceMs, limit: missing });
    const frozen = found.flatMap(({ tenant, traceId, scores }) =>
      scores.map(([scorer, score]): AnchorRow => ({
        tenant,
        scorer,
        fingerprint,
        traceId,
        first: true,
        score,
        atMs: nowMs,
        servedModel: '',
      })),
    );
    await this.#store.anchors.write(frozen);
    return frozen;
  }

  async #judge(
    scoring: Scoring,
    scorer: JudgedScorer,
    rows: readonly AnchorRow[],
    terms: JudgingTerms,
  ): Promise<void> {
    const { nowMs, signal } = terms;
    const keys = listAnchors(rows);
    const lastMs = new Map(keys.map((key) => [nameRun(key), 0]));
    rows.filter(({ first }) => !first).forEach((row) => lastMs.set(nameRun(row), row.atMs));
    const name = (key: TraceKey) => `${scorer.bound.fingerprint} ${nameRun(key)}`;
    const triedMs = (key: TraceKey) =>
      Math.max(lastMs.get(nameRun(key)) ?? 0, this.#triedMs.get(name(key)) ?? 0);
    const inHour = countSince(rows, this.#triedMs, {
      fingerprint: scorer.bound.fingerprint,
      sinceMs: nowMs - HOUR_MS,
    });
    const servedBefore = rows.filter(({ servedModel }) => servedModel !== '').at(-1)?.servedModel;
    const due = Math.min(this.#quota(scorer, rows, terms) - inHour, PER_LOOK, keys.length);
    const turn = keys.toSorted((a, b) => triedMs(a) - triedMs(b)).slice(0, Math.max(0, due));
    for (let next = 0; next < turn.length && !signal.aborted; next += AT_ONCE) {
      const some = turn.slice(next, next + AT_ONCE);
      some.forEach((key) => this.#triedMs.set(name(key), nowMs));
      await allSettled(
        some.map(async (key) => {
          // Each is stored at once, so that a kill forgets only the questions that are under way.
          const judged = await judgeAgain(scoring, scorer, key, signal);
          // First: a stored judging hides the change from the next look.
          await this.#mark(scorer, judged, servedBefore);
          await this.#store.anchors.write(judged);
        }),
      );
    }
  }

  /** Marks the first answer of another model than the one that served a judge before. */
  async #mark(
    { bound: { judgeModel } }: JudgedScorer,
    judgings: readonly AnchorRow[],
    servedBefore: string | undefined,
  ): Promise<void> {
    for (const { servedModel, atMs } of judgings) {
      const name = `${judgeModel} ${servedModel}`;
      const isChange = servedBefore !== undefined && servedModel !== '' && servedModel !== servedBefore;
      if (isChange) {
        const version = { serviceVersion: servedModel, agentVersion: '', origin: 'seen' } as const;
        const marker = { tenant: '', service: judgeModel, agent: '', ...version, atMs };
        // Several anchors are judged at once.
        const marking = this.#marked.get(name) ?? this.#store.markers.record(marker);
        this.#marked.set(name, marking);
        marking.catch(() => this.#marked.delete(name));
        await marking;
      }
    }
  }

  /**
   * Returns the judgings of an hour: the share of the scorer's runs within the limits, and all of them for an incident that waits. The least
   * number grows over the first hour.
   */
  #quota(
    { bound }: JudgedScorer,
    rows: readonly AnchorRow[],
    { settings: { share, perHour }, isAsked, nowMs }: JudgingTerms,
  ): number {
    const ofShare = Math.floor(share * (this.#judgedRuns.get(bound.name) ?? 0));
    const frozenForMs = nowMs - Math.min(nowMs, ...rows.map(({ atMs }) => atMs));
    const least = Math.floor(perHour.min * Math.min(1, frozenForMs / HOUR_MS));
    return isAsked ? perHour.max : Math.min(perHour.max, Math.max(least, ofShare));
  }
}

const nameRun = ({ tenant, traceId }: TraceKey) => JSON.stringify([tenant, traceId]);

function listAnchors(rows: readonly AnchorRow[]): TraceKey[] {
  const firsts = rows.filter(({ first }) => first);
  return [
    ...new Map(
      firsts.map(({ tenant, traceId }) => [nameRun({ tenant, traceId }), { tenant, traceId }]),
    ).values(),
  ];
}

/** Counts the judgings since a time, and the tries without a score. A judging may give several rows. */
function countSince(
  rows: readonly AnchorRow[],
  tried: ReadonlyMap<string, number>,
  { fingerprint, sinceMs }: { readonly fingerprint: string; readonly sinceMs: number },
): number {
  const judged = rows.filter(({ first, atMs }) => !first && atMs >= sinceMs);
  const judgings = new Set(judged.map((row) => `${row.atMs} ${nameRun(row)}`));
  const scored = new Set(judged.map((row) => `${fingerprint} ${nameRun(row)}`));
  const failed = [...tried].filter(
    ([name, atMs]) => atMs >= sinceMs && name.startsWith(`${fingerprint} `) && !scored.has(name),
  );
  return judgings.size + failed.length;
}

/** Asks the judge of a scorer about an anchor again. Returns its judgings; none when it gave no score. */
async function judgeAgain(
  scoring: Scoring,
  { rule, bound }: JudgedScorer,
  key: TraceKey,
  signal: AbortSignal,
): Promise<AnchorRow[]> {
  const calls: JudgeCall[] = [];
  const looking: Scoring = {
    ...createLookScoring(scoring),
    ...createReadLimits(),
    judgeScope: { ...scoring.judgeScope, cache: undefined, onCall: (call) => void calls.push(call) },
    signal: AbortSignal.any([signal, ...(scoring.signal === undefined ? [] : [scoring.signal])]),
  };
  const mode = apiMode([{ ...rule, scorers: [bound] }], { write: false });
  const [outcome] = await scoreTraces(looking, [key], mode);
  const { tenant, traceId } = key;
  await scoring.callWriter.write(
    calls.map((call) => buildCallRecord({ tenant, traceId, scoreId: '', scorer: bound.name }, call)),
  );
  const scores = (outcome?.scores ?? []).filter(({ target }) => target === 'trace');
  const servedModel = calls.findLast((call) => call.servedModel !== '')?.servedModel ?? '';
  const atMs = await scoring.stores.spans.nowMs();
  return scoring.purged.has(key)
    ? []
    : scores.map((score) => ({
        tenant,
        scorer: score.scorer,
        fingerprint: bound.fingerprint,
        traceId,
        first: false,
        score: directScore(score.firstScore ?? score.score, score),
        atMs,
        servedModel,
      }));
}
