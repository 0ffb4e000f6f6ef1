import { setTimeout as sleep } from 'node:timers/promises';
import { replyJson } from '../fakes/judge-server.ts';
import { freePorts } from '../processes/free-ports.ts';
import { ServeFolder } from '../processes/serve-process.ts';
import { queryRows, type ClickHouseAddress } from '../store/clickhouse-query.ts';
import type { Disturbance, RecordedCall } from './fleet-record.ts';
import { KeptServe } from './kept-serve.ts';
import { NumberedTraces } from './numbered-traces.ts';
import { RecordingJudge } from './recording-judge.ts';

const HOST = '127.0.0.1';
const ANY_PORT = { endpoint: `${HOST}:0` };
const SCORERS = 4;

/** Cost of each judge call: tokens, and USD per million of them. */
const USAGE = { prompt_tokens: 500, completion_tokens: 50 };
const PRICE = { input: 1, output: 10 };
export const CALL_USD = (USAGE.prompt_tokens * PRICE.input + USAGE.completion_tokens * PRICE.output) / 1e6;

const VERDICT = { criteria: [{ n: 1, satisfied: true, reasoning: 'it does' }], overallAssessment: 'good' };

/** Time from a judge call to the stored score on a busy machine, milliseconds: a kill within it loses the call. */
const WRITTEN_WITHIN_MS = 10_000;

/** Rules of the fleet: each has one scorer, which asks its judge once for a score. */
export const FREE = { rule: 'free', scorer: 'first-opinion', model: 'first' } as const;
export const CAPPED = { rule: 'capped', scorer: 'second-opinion', model: 'second' } as const;

/** Rows of the store after a run. */
export interface FleetRows {
  readonly decisions: readonly { traceId: string; rule: string; status: string; reason: string }[];
  readonly scores: readonly { traceId: string; scorer: string; rows: number }[];
}

/**
 * A process that receives and owns the store, and four scorer processes on this store. They judge every trace twice: for a rule without
 * a limit and for a rule with one. Each scorer process is killed and started again in turn.
 */
export class KilledFleet {
  readonly home: KeptServe;
  readonly scorers: readonly KeptServe[];
  readonly traces: NumberedTraces;
  kills = 0;
  readonly #store: ClickHouseAddress;
  readonly #capUsd: number;
  readonly #judge = new RecordingJudge(() => replyJson(VERDICT, { usage: USAGE }));
  readonly #kills: Disturbance[] = [];

  static async create(capUsd: number): Promise<KilledFleet> {
    return new KilledFleet(await freePorts(2), capUsd);
  }

  private constructor([engine = 0, home = 0]: readonly number[], capUsd: number) {
    const password = 'of one fleet only';
    this.#capUsd = capUsd;
    this.#store = { url: `http://${HOST}:${engine}`, username: 'default', password, database: 'spanscore' };
    const receivers = { otlp: { http: { endpoint: `${HOST}:${home}` }, grpc: ANY_PORT } };
    const roles = ['--role', 'store,collector,api'];
    const folder = new ServeFolder({ receivers, api: ANY_PORT, store: { port: engine, password } }, roles);
    this.home = new KeptServe('home', folder, { disturbances: [] });
    this.scorers = Array.from({ length: SCORERS }, (_, n) => {
      const scorer = new ServeFolder({}, ['--role', 'scorer']);
      return new KeptServe(`scorer-${n}`, scorer, { disturbances: this.#kills });
    });
    this.traces = new NumberedTraces([`http://${HOST}:${home}`], Date.now());
  }

  async start(): Promise<void> {
    await this.#judge.start();
    await this.home.start();
    this.scorers.forEach(({ name, folder }) => folder.configure(this.#configure(name)));
    await Promise.all(this.scorers.map((scorer) => scorer.start()));
  }

  /** Kills one scorer process after the other, every 10 s, and starts each again at once. */
  async killFor(ms: number, everyMs = 10_000): Promise<void> {
    const restarts: Promise<void>[] = [];
    const endMs = performance.now() + ms;
    while (performance.now() + everyMs <= endMs) {
      await sleep(everyMs);
      const next = this.scorers[this.kills % this.scorers.length];
      this.kills += 1;
      restarts.push(next?.restart('SIGKILL') ?? Promise.resolve());
    }
    await Promise.all(restarts);
  }

  /** Lists the judge calls for a rule so far, those of killed processes included. */
  listCalls({ model }: Pick<typeof FREE | typeof CAPPED, 'model'>): RecordedCall[] {
    return this.#judge.calls.filter(({ subject }) => subject.endsWith(` by ${model}`));
  }

  /** Counts the repeated calls about a trace: after a kill of the process that had asked before, and others. */
  countRepeats(rule: Pick<typeof FREE | typeof CAPPED, 'model'>): {
    afterKill: number;
    others: number;
    /** Longest and median time from a call to the kill that lost it, milliseconds. */
    lostWithinMs: [median: number, longest: number];
  } {
    const groups = [...Map.groupBy(this.listCalls(rule), ({ subject }) => subject).values()];
    const earlier = groups.flatMap((calls) => calls.slice(0, -1));
    const ages = earlier.flatMap((call) => this.#findLoss(call)).toSorted((a, b) => a - b);
    const [median = 0, longest = 0] = [ages[Math.floor(ages.length / 2)], ages.at(-1)];
    return {
      afterKill: ages.length,
      others: earlier.length - ages.length,
      lostWithinMs: [Math.round(median), Math.round(longest)],
    };
  }

  /** Returns the time from a call to the kill of its process, if that was soon. */
  #findLoss({ process, startedMs }: RecordedCall): number[] {
    const kill = this.#kills.find(
      ({ process: killed, fromMs }) =>
        killed === process && fromMs >= startedMs && fromMs - startedMs <= WRITTEN_WITHIN_MS,
    );
    return kill === undefined ? [] : [kill.fromMs - startedMs];
  }

  async readRows(): Promise<FleetRows> {
    const [decisions, scores] = await Promise.all([
      queryRows<FleetRows['decisions'][number]>(
        this.#store,
        'SELECT TraceId AS traceId, Rule AS rule, Status AS status, Reason AS reason FROM decisions FINAL',
      ),
      queryRows<{ traceId: string; scorer: string; rows: string }>(
        this.#store,
        'SELECT TraceId AS traceId, Scorer AS scorer, count() AS rows FROM scores FINAL GROUP BY TraceId, Scorer',
      ),
    ]);
    return { decisions, scores: scores.map((row) => ({ ...row, rows: Number(row.rows) })) };
  }

  /** Stops all processes. Returns their exit codes. */
  async stop(): Promise<(number | null)[]> {
    const codes = await Promise.all(this.scorers.map((scorer) => scorer.stop()));
    return [...codes, await this.home.stop()];
  }

  async dispose(): Promise<void> {
    for (const { folder } of [...this.scorers, this.home]) {
      await folder.dispose();
    }
    await this.#judge.stop();
  }

  /** Returns the ends of the outputs of all processes. */
  describe(): string {
    return [this.home, ...this.scorers]
      .map(({ name, folder }) => `${name}:\n${folder.output.slice(-2_000)}`)
      .join('\n');
  }

  #configure(name: string): Record<string, unknown> {
    const scorer = ({ model }: typeof FREE | typeof CAPPED) => ({
      use: 'rubric',
      judge: `local/${model}`,
      options: { criteria: 'tells the temperature' },
    });
    return {
      store: this.#store,
      judges: {
        providers: { local: { baseURL: this.#judge.baseUrl(name), concurrency: 4 } },
        prices: { 'local/first': PRICE, 'local/second': PRICE },
      },
      scorers: { [FREE.scorer]: scorer(FREE), [CAPPED.scorer]: scorer(CAPPED) },
      rules: [
        { name: FREE.rule, scorers: [FREE.scorer] },
        { name: CAPPED.rule, scorers: [CAPPED.scorer], budget: { perDay: this.#capUsd } },
      ],
      readiness: { decisionWait: '1s', maxWait: '20s' },
    };
  }
}
