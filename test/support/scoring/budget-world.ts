import { randomUUID } from 'node:crypto';
import { readTrace } from '../../../src/conventions/index.ts';
import { DAY_MS } from '../../../src/domain/durations.ts';
import type { Decision } from '../../../src/domain/decision.ts';
import { createJudgeRegistry } from '../../../src/judge/judge-registry.ts';
import { askForText } from '../../../src/judge/judge.ts';
import type { CatchUpTerms, ScoringStores } from '../../../src/scoring/scoring.ts';
import { createScorerOwnership, ScoringLoop } from '../../../src/scoring/live/scoring-loop.ts';
import { createScoring } from './bare-scoring.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { Store } from '../../../src/store/store.ts';
import { modelObject } from '../builders/model-object.ts';
import { agentRunSpans, store as ingest } from '../store/stored-agent.ts';
import { newTraceId } from '../store/store-rows.ts';
import { buildRule, CountingScorer } from './scoring-world.ts';

/** A call is estimated at 500 tokens of output, and has as many: 0.01 USD. */
const PRICES = { 'scripted/judge-1': { input: 0, output: 20 } };
const USAGE = { inputTokens: { total: 0 }, outputTokens: { total: 500 } };

export interface BudgetWorldOptions {
  readonly perDay: number;
  readonly catchUp: CatchUpTerms;
}

/** Scorer processes with a budget on a real store, and a clock that the test moves. Each trace needs one call of 0.01 USD. */
export class BudgetWorld {
  /** Ids of the traces in the order of their arrival. */
  readonly traceIds: string[] = [];
  readonly model = modelObject(() => 'fine', { usage: USAGE });
  readonly #store: Store;
  readonly #options: BudgetWorldOptions;
  #offsetMs = 0;

  constructor(store: Store, options: BudgetWorldOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Sets the clock to the eighth hour of a later UTC day. */
  async sleepDays(days: number): Promise<void> {
    const nowMs = (await this.#store.spans.nowMs()) + this.#offsetMs;
    this.#offsetMs += (Math.floor(nowMs / DAY_MS) + days + 1 / 3) * DAY_MS - nowMs;
  }

  /** Starts a scorer process. Returns the function that stops it. */
  async startProcess(): Promise<() => Promise<void>> {
    const ask = async () => {
      await askForText(this.model, { instructions: 'Judge.', prompt: 'Is it fine?' });
      return { score: 1 };
    };
    const rule = buildRule([new CountingScorer('asking', ask, 'scripted/judge-1')], {
      budget: { perDay: this.#options.perDay },
    });
    const scoring = createScoring(
      {
        stores: this.#stores(),
        readTrace,
        log: silentLog,
        judgeScope: { judges: createJudgeRegistry({ prices: PRICES }) },
      },
      { decisionWaitMs: 400, catchUp: this.#options.catchUp },
    );
    const ownership = createScorerOwnership(this.#store.members, [rule], {
      member: randomUUID(),
      monotonicMs: () => performance.now(),
    });
    const loop = new ScoringLoop(scoring, { rules: [rule], ownership, stopGraceMs: 1_000 });
    await loop.start();
    return async () => {
      await loop.stop();
      await scoring.budget.giveBack();
    };
  }

  /** @param together traces that come at the same time */
  async ingest(count: number, together = 1): Promise<void> {
    for (let n = 0; n < count; n += together) {
      const traceIds = Array.from({ length: together }, () => newTraceId());
      this.traceIds.push(...traceIds);
      await ingest(
        this.#store,
        traceIds.flatMap((traceId) => agentRunSpans(traceId)),
      );
    }
  }

  /** Positions, in the order of arrival, of the traces whose decision has this status. */
  async listPositions(status: Decision['status']): Promise<number[]> {
    const decisions = await this.listDecisions();
    return this.traceIds.flatMap((traceId, n) =>
      decisions.some((row) => row.traceId === traceId && row.status === status) ? [n + 1] : [],
    );
  }

  async listDecisions(): Promise<Decision[]> {
    const keys = this.traceIds.map((traceId) => ({ tenant: '', traceId }));
    return [...(await this.#store.decisions.ofTraces(keys)).values()].flat();
  }

  /** The store with the clock of the test. */
  #stores(): ScoringStores {
    const { spans } = this.#store;
    return { ...this.#store, spans: { ...spans, nowMs: async () => (await spans.nowMs()) + this.#offsetMs } };
  }
}
