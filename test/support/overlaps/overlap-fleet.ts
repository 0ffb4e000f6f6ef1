import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEngine, sendSignal } from '../durability/fleet.ts';
import { isProcessAlive } from '../processes/engine-directory.ts';
import { freePorts } from '../processes/free-ports.ts';
import { ServeFolder } from '../processes/serve-process.ts';
import type { ClickHouseAddress } from '../store/clickhouse-query.ts';
import type { Disturbance, FleetRecord, RecordedRule } from './fleet-record.ts';
import { KeptServe } from './kept-serve.ts';
import { NumberedTraces } from './numbered-traces.ts';
import { readStoredFacts } from './read-stored-facts.ts';
import { RecordingJudge } from './recording-judge.ts';
import { ScoreReceiver } from './score-receiver.ts';

const HOST = '127.0.0.1';
const ANY_PORT = { endpoint: `${HOST}:0` };
const STOP_WITHIN_MS = 45_000;

/** Differences of a configuration from the first one. */
export interface ConfigChanges {
  readonly otherJudge?: boolean;
  readonly addedScorer?: boolean;
  readonly removedRule?: boolean;
}

/** Lists the rules of a configuration. */
function listRules({ addedScorer, removedRule }: ConfigChanges): RecordedRule[] {
  const quality = ['keyword-coverage', 'hallucination', ...(addedScorer === true ? ['second-opinion'] : [])];
  return [
    { rule: 'quality', scorers: quality },
    ...(removedRule === true ? [] : [{ rule: 'extra', scorers: ['content-similarity', 'faithfulness'] }]),
  ];
}

interface Places {
  readonly store: ClickHouseAddress;
  readonly judge: RecordingJudge;
  readonly exports: ScoreReceiver;
}

/** Builds the configuration of a scorer, or of a command that scores. `name` is the name of the process at the judge. */
function scorerConfig(
  name: string,
  { store, judge, exports }: Places,
  changes: ConfigChanges,
): Record<string, unknown> {
  return {
    store,
    judges: {
      default: changes.otherJudge === true ? 'local/second' : 'local/first',
      providers: { local: { baseURL: judge.baseUrl(name), concurrency: 4 } },
    },
    scorers: { 'second-opinion': { use: 'hallucination', judge: 'local/third' } },
    rules: listRules(changes).map(({ rule, scorers }) => ({ name: rule, scorers })),
    readiness: { decisionWait: '1s', maxWait: '20s' },
    exporters: { webhook: { url: `${exports.url}/scores` }, otlp: { endpoint: exports.url, as: ['log'] } },
  };
}

/**
 * A process that owns the store, two scorers on this store, a judge, a receiver of scores, and senders. All addresses stay
 * the same over restarts.
 */
export class OverlapFleet {
  readonly judge = new RecordingJudge();
  readonly exports: ScoreReceiver;
  readonly home: KeptServe;
  readonly scorers: readonly KeptServe[];
  readonly traces: NumberedTraces;
  readonly store: ClickHouseAddress;
  /** Changes that the last restarted scorer has. The whole fleet has them after `heal`. */
  changes: ConfigChanges = {};
  readonly #receivers: Readonly<Record<string, number>>;
  readonly #command: ServeFolder;
  readonly #disturbances: Disturbance[] = [];
  readonly #engines = new Set<number>();
  readonly #configured = new Map<KeptServe, ConfigChanges>();

  static async create(seed: number): Promise<OverlapFleet> {
    return new OverlapFleet(await freePorts(5), seed);
  }

  private constructor([engine = 0, home = 0, a = 0, b = 0, exports = 0]: readonly number[], seed: number) {
    const password = 'of one fleet only';
    this.store = { url: `http://${HOST}:${engine}`, username: 'default', password, database: 'spanscore' };
    this.exports = new ScoreReceiver(exports);
    this.#receivers = { home, a, b };
    const receivers = this.#receive('home');
    const homeFolder = new ServeFolder({ receivers, api: ANY_PORT, store: { port: engine, password } }, [
      '--role',
      'store,collector,api',
    ]);
    const disturbances = this.#disturbances;
    this.home = new KeptServe('home', homeFolder, { disturbances, disturbs: 'all' });
    this.scorers = ['a', 'b'].map(
      (name) =>
        new KeptServe(name, new ServeFolder({}, ['--role', 'scorer,collector,api']), { disturbances }),
    );
    this.#command = new ServeFolder();
    this.traces = new NumberedTraces(
      [home, a, b].map((port) => `http://${HOST}:${port}`),
      seed,
    );
  }

  async start(): Promise<void> {
    await this.judge.start();
    await this.exports.start();
    await this.home.start();
    for (const scorer of this.scorers) {
      scorer.folder.configure(this.#configure(scorer));
    }
    await Promise.all(this.scorers.map((scorer) => scorer.start()));
  }

  /** Restarts a scorer with further changes of its configuration. */
  async reconfigure(scorer: KeptServe, changes: ConfigChanges): Promise<void> {
    this.changes = { ...this.changes, ...changes };
    await scorer.restart('SIGTERM', this.#configure(scorer));
  }

  /** Writes the configuration of a command that scores. Returns its path. `name` is the name of the command at the judge. */
  configureCommand(name: string): string {
    this.#command.configure(scorerConfig(name, this, this.changes));
    return this.#command.configFile;
  }

  /** Sends the engine a signal. Returns false when there is none. */
  signalEngine(signal: NodeJS.Signals): boolean {
    return sendSignal(this.#noteEngine(), signal);
  }

  /** Ends every fault, and gives all scorers the same configuration. */
  async heal(): Promise<void> {
    this.judge.mode = 'ok';
    this.exports.mode = 'ok';
    await this.home.heal();
    for (const scorer of this.scorers) {
      await scorer.heal();
      if (this.#configured.get(scorer) !== this.changes) {
        await scorer.restart('SIGTERM', this.#configure(scorer));
      }
    }
  }

  /** Reads the record of the fleet. */
  async record(leftBehind: readonly string[] = []): Promise<FleetRecord> {
    this.#noteEngine();
    const { acknowledged } = this.traces;
    return {
      ...(await readStoredFacts(this.store, [...acknowledged.keys()])),
      acknowledged,
      finalRules: listRules(this.changes),
      deliveries: this.exports.deliveries,
      calls: this.judge.calls,
      disturbances: this.#disturbances,
      endedAlone: [this.home, ...this.scorers].flatMap(({ endedAlone }) => endedAlone),
      leftBehind,
    };
  }

  /** Stops all processes. Returns what is left: exit codes that are no success, processes and files. */
  async stop(): Promise<string[]> {
    const left: string[] = [];
    for (const serve of [...this.scorers, this.home]) {
      const code = await Promise.race([serve.stop(), sleep(STOP_WITHIN_MS, 'no exit', { ref: false })]);
      if (code !== 0) {
        left.push(`${serve.name} ended with ${code}: ${serve.folder.output.slice(-600)}`);
      }
      left.push(
        ...serve.pids
          .filter((pid) => isProcessAlive(-pid))
          .map((pid) => `process group ${pid} of ${serve.name}`),
        ...['serve.json', 'engine.json', 'owner.json']
          .filter((name) => existsSync(join(serve.folder.dataDir, name)))
          .map((name) => `${name} of ${serve.name}`),
      );
    }
    return [...left, ...[...this.#engines].filter(isProcessAlive).map((pid) => `engine ${pid}`)];
  }

  async dispose(): Promise<void> {
    for (const { folder } of [...this.scorers, this.home]) {
      await folder.dispose();
    }
    await this.#command.dispose();
    await this.exports.stop();
    await this.judge.stop();
  }

  /** Returns the ends of the outputs of all processes. */
  describe(): string {
    return [this.home, ...this.scorers]
      .map(({ name, folder }) => `${name}:\n${folder.output.slice(-3_000)}`)
      .join('\n');
  }

  #configure(scorer: KeptServe): Record<string, unknown> {
    this.#configured.set(scorer, this.changes);
    const { name } = scorer;
    return { ...scorerConfig(name, this, this.changes), receivers: this.#receive(name) };
  }

  #receive(name: string): Record<string, unknown> {
    const endpoint = `${HOST}:${this.#receivers[name]}`;
    return { otlp: { http: { endpoint }, grpc: ANY_PORT } };
  }

  #noteEngine(): number | undefined {
    const pid = findEngine(this.home.folder.dataDir);
    if (pid !== undefined) {
      this.#engines.add(pid);
    }
    return pid;
  }
}
