import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConfigControl } from '../../../src/config/config-control.ts';
import { loadConfig, type ConfigInput } from '../../../src/configuration.ts';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { startServe, type Serve } from '../../../src/serve.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { anAgentTrace } from '../builders/agent-trace.ts';
import { startJudgeServer, type JudgeServer } from '../fakes/judge-server.ts';
import { verdictJudge } from '../fakes/verdict-judge.ts';
import { queryRows } from '../store/clickhouse-query.ts';
import { until } from '../until.ts';
import { sendTraces } from './serve-process.ts';

function controlOf({ control }: Serve): ConfigControl {
  if (control === undefined) {
    throw new Error('serve has no control');
  }
  return control;
}

/** A `serve` whose configuration file can change, and others that score on its store by the same file. */
export class ReloadWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'spanscore-reload-'));
  readonly file = join(this.folder, 'spanscore.config.json');
  readonly #others: Serve[] = [];
  #serve: Serve | undefined;
  #judge: JudgeServer | undefined;

  get serve(): Serve {
    if (this.#serve === undefined) {
      throw new Error('the world has not started');
    }
    return this.#serve;
  }

  get judge(): JudgeServer {
    if (this.#judge === undefined) {
      throw new Error('the world has not started');
    }
    return this.#judge;
  }

  get control(): ConfigControl {
    return controlOf(this.serve);
  }

  /** Puts the written configuration in force in each `serve`. Throws for one that refuses it. */
  async reload(): Promise<void> {
    const answers = await Promise.all([this.serve, ...this.#others].map((each) => controlOf(each).reload()));
    if (answers.some(({ outcome }) => outcome !== 'applied')) {
      throw new Error(`a reload was not applied: ${JSON.stringify(answers)}`);
    }
  }

  /** @param others number of further scorers */
  async start(config: ConfigInput, others = 0): Promise<void> {
    this.#judge = await startJudgeServer(async (request) => {
      await sleep(100);
      return verdictJudge(request);
    });
    this.write(config);
    const load = async (text?: string) => {
      const options = { path: this.file, text, variables: {}, scorers: PREBUILT_SCORERS };
      return (await loadConfig(options)).config;
    };
    this.#serve = await startServe(await load(), { log: silentLog, source: { file: this.file, load } });
    const { url, username, password, database } = this.serve.addresses.clickhouse;
    for (let index = 0; index < others; index += 1) {
      const loadOther = async (text?: string) => {
        const own = await load(text);
        return { ...own, store: { ...own.store, url, username, password, database } };
      };
      const source = { file: this.file, load: loadOther };
      const roles = ['scorer'] as const;
      this.#others.push(await startServe(await loadOther(), { log: silentLog, roles, source }));
    }
  }

  /** Writes the configuration, with the parts that no test changes. */
  write(config: ConfigInput): void {
    const any = { endpoint: '127.0.0.1:0' };
    const whole: ConfigInput = {
      store: { dataDir: 'data' },
      receivers: { otlp: { http: any, grpc: any } },
      api: any,
      readiness: { decisionWait: '300ms', maxWait: '5s' },
      ...config,
      judges: {
        default: 'local/judge',
        reuse: false,
        // Anchors ask the judge again: the calls about a trace are counted.
        anchors: { size: 0 },
        providers: { local: { baseURL: this.judge.baseUrl, concurrency: 4 } },
        ...config.judges,
      },
    };
    writeFileSync(this.file, JSON.stringify(whole, null, 2));
  }

  /** Sends a trace whose answer no other one has. Returns its id. */
  async send(): Promise<string> {
    const traceId = randomBytes(16).toString('hex');
    const trace = anAgentTrace(traceId).answering(`It is 18 degrees at ${nameOf(traceId)}.`);
    const { otlpHttp } = this.serve.addresses;
    const status = await sendTraces(otlpHttp ?? '', trace.request());
    if (status !== 200) {
      throw new Error(`a trace was answered with ${status}`);
    }
    return traceId;
  }

  /** Reads the pairs of rule and scorer that each trace has a decision of, sorted, and joined by blanks. */
  async readPairs(): Promise<Map<string, string>> {
    const rows = await queryRows<{ id: string; pairs: string[] }>(
      this.serve.addresses.clickhouse,
      `SELECT TraceId AS id, arraySort(groupArray(concat(Rule, '/', Scorer))) AS pairs FROM decisions FINAL
       WHERE Status = 'scored' GROUP BY TraceId`,
    );
    return new Map(rows.map(({ id, pairs }) => [id, pairs.join(' ')]));
  }

  /** Waits until each of these traces has all pairs of one of the sets. */
  async untilDecided(traces: readonly string[], sets: readonly string[]): Promise<Map<string, string>> {
    let pairs = new Map<string, string>();
    const isDone = async () => {
      pairs = await this.readPairs();
      return traces.every((id) => sets.includes(pairs.get(id) ?? ''));
    };
    try {
      await until(isDone, DRAINED_WITHIN_MS);
    } catch (error) {
      const odd = traces.filter((id) => !sets.includes(pairs.get(id) ?? ''));
      throw new Error(await this.describe(odd), { cause: error });
    }
    return pairs;
  }

  /** Describes traces by their decisions and judge calls, and when rules came into force, for a person who looks for the fault. */
  async describe(traceIds: readonly string[]): Promise<string> {
    const { clickhouse } = this.serve.addresses;
    const ids = traceIds.map((id) => `'${id}'`).join();
    const facts = await Promise.all(
      [
        `SELECT TraceId, Rule, Scorer, Status, Reason, toString(WrittenAt) AS at, toString(EvidenceUntil) AS until FROM decisions WHERE TraceId IN (${ids}) ORDER BY WrittenAt`,
        `SELECT TraceId, toString(min(FirstArrival)) AS first, toString(max(LastArrival)) AS last FROM trace_activity WHERE TraceId IN (${ids}) GROUP BY TraceId`,
        `SELECT TraceId, Scorer, Step, Status, Error, ScoreId, DurationMs, toString(CalledAt) AS at FROM judge_calls WHERE TraceId IN (${ids}) ORDER BY CalledAt`,
        'SELECT Rule, toString(min(ActiveFrom)) AS at FROM rule_versions GROUP BY Rule, Version ORDER BY at',
      ].map((sql) => queryRows(clickhouse, sql)),
    );
    return facts.map((rows) => JSON.stringify(rows)).join('\n');
  }

  /**
   * Counts the judgings that came to their last question, by trace. A process that could not beat for some time on a busy machine
   * abandons its judgings, and another one begins them again.
   */
  async countJudgings(): Promise<Map<string, number>> {
    const rows = await queryRows<{ id: string; n: string }>(
      this.serve.addresses.clickhouse,
      `SELECT TraceId AS id, count() AS n FROM judge_calls WHERE Step = 'generateReason' GROUP BY id`,
    );
    return new Map(rows.map(({ id, n }) => [id, Number(n)]));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#others.map((other) => other.stop()));
    await this.#serve?.stop();
    await this.#judge?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Writes a trace id in letters: redaction takes some runs of digits for the number of a card. */
function nameOf(traceId: string): string {
  return traceId.replaceAll(/\d/gu, (digit) => 'ghijklmnop'[Number(digit)] ?? '');
}

/** Longest time in which the traces that were sent are decided. */
const DRAINED_WITHIN_MS = 400_000;

/** Rules between which a run of reloads changes, and the pairs that each decides. */
const REVISIONS: readonly { readonly rules: NonNullable<ConfigInput['rules']>; readonly pairs: string }[] = [
  {
    rules: [{ name: 'production', scorers: ['keyword-coverage', 'hallucination'] }],
    pairs: 'production/hallucination production/keyword-coverage',
  },
  {
    rules: [
      { name: 'production', scorers: ['keyword-coverage', 'completeness'] },
      { name: 'second', scorers: ['hallucination'] },
    ],
    pairs: 'production/completeness production/keyword-coverage second/hallucination',
  },
];

/** Returns rules with a definition that no earlier reload has put in force: two processes agree on the time of new rules alone. */
function rulesOf(revision: number, reload: number): ConfigInput['rules'] {
  const where = { duration: { max: `${1_000 + reload}h` } };
  return REVISIONS[revision]?.rules.map((rule) => ({ ...rule, where }));
}

interface ReloadRun {
  readonly traces: number;
  readonly reloads: number;
  readonly seed: number;
  /** Number of further scorers on the store. */
  readonly others?: number;
  /** Most traces for each reload: a busy machine reloads slowly, and would get a backlog. */
  readonly tracesAReload?: number;
}

/** Sends traces while the rules change back and forth at random moments. Returns what was wrong with each trace. */
export async function runReloads(
  world: ReloadWorld,
  { traces, reloads, seed, others = 0, tracesAReload = Infinity }: ReloadRun,
): Promise<string[]> {
  let state = seed;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const sent: { readonly id: string; readonly allowed: readonly string[] }[] = [];
  let now = 0;
  let isChanging = false;
  let done = 0;
  const end = new AbortController();
  const all = REVISIONS.map(({ pairs }) => pairs);
  await world.start({ rules: rulesOf(0, 0) }, others);
  const sending = (async () => {
    while (sent.length < traces || !end.signal.aborted) {
      const began = { done, isChanging };
      const id = await world.send();
      // By the count of reloads: two of them bring the same rules back.
      const isSure = !began.isChanging && !isChanging && began.done === done;
      sent.push({ id, allowed: isSure ? [all[now] ?? ''] : all });
      await sleep(random() * 40);
      await until(() => sent.length < tracesAReload * (done + 1) || end.signal.aborted, DRAINED_WITHIN_MS);
    }
  })();
  for (let count = 0; count < reloads; count += 1) {
    await sleep(random() * 600);
    isChanging = true;
    const next = 1 - now;
    world.write({ rules: rulesOf(next, count + 1) });
    await world.reload();
    now = next;
    isChanging = false;
    done += 1;
  }
  end.abort();
  await sending;
  const pairs = await world.untilDecided(
    sent.map(({ id }) => id),
    all,
  );
  const judgings = await world.countJudgings();
  const faults = sent.map(({ id, allowed }) => {
    const decided = pairs.get(id) ?? '';
    const judged = judgings.get(id) ?? 0;
    return [
      ...(allowed.includes(decided) ? [] : [`${id} was decided by ${decided}`]),
      ...(judged === 1 ? [] : [`${id} was judged ${judged} times`]),
    ];
  });
  const odd = sent.filter((_, index) => (faults[index] ?? []).length > 0).map(({ id }) => id);
  return odd.length === 0 ? [] : [...faults.flat(), await world.describe(odd)];
}
