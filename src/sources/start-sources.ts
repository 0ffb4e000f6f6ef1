import { v5 as uuidv5 } from 'uuid';
import type { ExportRequest } from '../../collector/ingest.ts';
import type { CollectorDependencies, StartReceiver } from '../../collector/receivers/receiver.ts';
import type { Config } from '../config/index.ts';
import { readOptions } from '../config/schema/components.ts';
import { LABEL_KINDS, type SourceConfig } from '../config/schema/sources.ts';
import { durationMs } from '../config/units.ts';
import { AppError, readErrorMessage } from '../domain/errors.ts';
import { parseJson } from '../domain/unknown-values.ts';
import type { LabelReader } from '../labels/import-labels.ts';
import type { Duties } from '../ownership/duties.ts';
import { type DutyDeps, startRepeatedDuty } from '../process/parts.ts';
import type { SourceState } from '../store/contracts/sources.ts';
import type { CursorStore } from '../store/tables/source-cursors.ts';
import type { EngineFiles } from '../store/foreign/engine-files.ts';
import { isFields, readField } from '../wire/otlp-json.ts';
import { createFileReader } from './files.ts';
import { createLangfuseLabels, createLangfuseReader } from './langfuse.ts';
import { createMlflowLabels, createMlflowReader } from './mlflow.ts';
import { createPhoenixLabels, createPhoenixReader } from './phoenix.ts';
import type { Batch, SourceReader } from './source.ts';

/** Creates the reader of a source. `engine` reads files that this process cannot. */
export function createReader(
  { phoenix, langfuse, mlflow, files = '', s3, since }: SourceConfig,
  engine: EngineFiles,
): SourceReader {
  const sinceMs = Date.now() - durationMs(since);
  return phoenix !== undefined
    ? createPhoenixReader(phoenix, sinceMs)
    : langfuse !== undefined
      ? createLangfuseReader(langfuse, sinceMs)
      : mlflow !== undefined
        ? createMlflowReader(mlflow, sinceMs)
        : createFileReader({ path: files, s3 }, engine);
}

const LABELS = {
  phoenix: createPhoenixLabels,
  langfuse: createLangfuseLabels,
  mlflow: createMlflowLabels,
} as const;

/** Creates the readers of labels that a configuration names: by the connection of the source of that name, else of the exporter. */
export function createLabelReaders({
  labels,
  sources,
  exporters,
}: Pick<Config, 'labels' | 'sources' | 'exporters'>): LabelReader[] {
  return labels.from.flatMap((name) => {
    const connections: object = sources[name] ?? { [name]: readOptions(exporters, name) };
    return LABEL_KINDS.flatMap((kind) => {
      const options = readOptions(connections, kind);
      return options === undefined ? [] : [LABELS[kind](options as never)];
    });
  });
}

export interface SourceDeps {
  readonly cursors: CursorStore;
  readonly engineFiles: EngineFiles;
  /** Starts to beat for the duties of this process. */
  readonly startDuties: () => Pick<Duties, 'join' | 'readEpoch' | 'leave' | 'stop'>;
  readonly timers?: DutyDeps['timers'];
}

export interface ConfiguredSources {
  /** Starts them beside the receivers of a collector, which stores their spans. */
  readonly start: StartReceiver;
  /** Returns their states since the start of this process. */
  readonly states: () => SourceState[];
}

/** Configures the sources of spans. Each is read by one process at a time. */
export function configureSources(
  sources: Readonly<Record<string, SourceConfig>>,
  { cursors, engineFiles, startDuties, timers }: SourceDeps,
): ConfiguredSources {
  const running: RunningSource[] = [];
  return {
    states: () => running.map((each) => each.state()),
    start: async (deps) => {
      const duties = startDuties();
      const parts = Object.entries(sources).map(([name, source]) => {
        const one = new RunningSource(name, source, { ...deps, cursors, engineFiles, duties });
        running.push(one);
        const duty = {
          duty: one.duty,
          everyMs: durationMs(source.every),
          failing: `the source ${name} cannot be read; it is tried again`,
          work: (signal: AbortSignal, epoch: number) => one.read(signal, epoch),
        };
        return startRepeatedDuty(duty, { duties, log: deps.log, timers });
      });
      let isListening = true;
      return {
        isListening: () => isListening,
        stop: async () => {
          isListening = false;
          await Promise.all(parts.map((part) => part.stop()));
          duties.stop();
        },
      };
    },
  };
}

interface RunDeps extends CollectorDependencies, Pick<SourceDeps, 'cursors' | 'engineFiles'> {
  readonly duties: Pick<Duties, 'readEpoch'>;
}

/** Namespace of the ids of dead letters. It must never change. */
const LETTER_NAMESPACE = '0f4f3c1a-9a59-5a7e-8d0b-6d4b1c0e7a52';

/** One source: stores what its reader brings, and then the cursor. */
class RunningSource {
  readonly duty: string;
  readonly #name: string;
  readonly #source: SourceConfig;
  readonly #deps: RunDeps;
  #work:
    | { readonly epoch: number; readonly reader: SourceReader; readonly cursors: Map<string, unknown> }
    | undefined;
  #spans = 0;
  #readAtMs: number | null = null;
  #lastError: string | null = null;

  constructor(name: string, source: SourceConfig, deps: RunDeps) {
    this.duty = `source ${name}`;
    this.#name = name;
    this.#source = source;
    this.#deps = deps;
  }

  state(): SourceState {
    const lag = this.#readAtMs === null ? null : Math.round((Date.now() - this.#readAtMs) / 1_000);
    return { name: this.#name, spans: this.#spans, lag, lastError: this.#lastError };
  }

  /** Reads what is new. Another process may have read since an earlier epoch: then it begins at the stored cursors. */
  async read(signal: AbortSignal, epoch: number): Promise<void> {
    const { cursors, engineFiles, duties } = this.#deps;
    try {
      if (this.#work?.epoch !== epoch) {
        const stored = new Map(await cursors.read(this.#name));
        this.#work = { epoch, reader: createReader(this.#source, engineFiles), cursors: stored };
      }
      const { reader, cursors: known } = this.#work;
      for await (const { requests, key = '', cursor } of reader.pull(known, signal)) {
        await this.#store(requests);
        if (signal.aborted || (await duties.readEpoch(this.duty)) !== epoch) {
          return;
        }
        if (cursor !== undefined && JSON.stringify(known.get(key)) !== JSON.stringify(cursor)) {
          await cursors.write(this.#name, key, cursor);
          known.set(key, cursor);
        }
      }
      this.#readAtMs = Date.now();
      this.#lastError = null;
    } catch (error) {
      if (!signal.aborted) {
        this.#lastError = readErrorMessage(error);
      }
      throw error;
    }
  }

  /** Stores requests together: they share inserts. */
  async #store(requests: Batch['requests']): Promise<void> {
    await Promise.all(requests.map((request) => this.#storeOne(request)));
  }

  async #storeOne(request: object | string): Promise<void> {
    const body = Buffer.from(typeof request === 'string' ? request : JSON.stringify(request));
    for (const [signal, count] of countRecords(request)) {
      const origin = { tenant: this.#source.tenant, source: `source-${this.#name}` };
      const left = await this.#take({ signal, encoding: 'json', origin, body });
      this.#spans += signal === 'traces' ? Math.max(0, count - left) : 0;
    }
  }

  /**
   * Stores a request. One that can never be stored becomes a dead letter, so that the others do not wait. Returns the number of records
   * that were not stored.
   */
  async #take(request: ExportRequest): Promise<number> {
    const { takeUntilStored, limiter } = this.#deps;
    const lease = limiter.lease();
    try {
      lease.hold(request.body.length);
      const { rejected, setAside, purged, reasons } = await takeUntilStored(request, lease);
      if (rejected > 0) {
        await this.#setAside(request, 'input_invalid', `${rejected} rejected: ${reasons.join('; ')}`);
      }
      return rejected + setAside + purged;
    } catch (error) {
      if (!(error instanceof AppError) || error.retryable) {
        throw error;
      }
      await this.#setAside(request, error.code, error.message);
      return Infinity;
    } finally {
      lease.release();
    }
  }

  async #setAside({ origin, body, signal }: ExportRequest, code: string, reason: string): Promise<void> {
    const id = uuidv5(Buffer.concat([Buffer.from(`${origin.source} `), body]), LETTER_NAMESPACE);
    const place = { topic: '', partition: 0, firstOffset: 0n, lastOffset: 0n };
    const what = { id, ...origin, ...place, signal, encoding: 'json', body, code, reason, attempts: 1 };
    await this.#deps.deadLetters.write([what]);
    this.#deps.log.warn(
      'a part of a source could not be read or stored; it is a dead letter now, to list them: spanscore dlq list',
      { source: this.#name, code, reason },
    );
  }
}

/** Counts the records of a request by signal: a line of a file may hold spans, log records or both. An unreadable one counts as spans. */
function countRecords(request: object | string): ReadonlyMap<'traces' | 'logs', number> {
  const read = typeof request === 'string' ? parseJson(request) : request;
  const [spans, logs] = [
    countNested([read], ['resourceSpans', 'scopeSpans', 'spans']),
    countNested([read], ['resourceLogs', 'scopeLogs', 'logRecords']),
  ];
  const both = new Map([
    ['traces', spans],
    ['logs', logs],
  ] as const);
  return new Map([...both].filter(([signal, count]) => count > 0 || (signal === 'traces' && logs === 0)));
}

/** Counts what is in lists of lists. Fields have names in camelCase or snake_case. */
function countNested(level: readonly unknown[], [name, ...names]: readonly string[]): number {
  return name === undefined
    ? level.length
    : countNested(
        level.filter(isFields).flatMap((each) => {
          const list = readField(each, name);
          return Array.isArray(list) ? (list as unknown[]) : [];
        }),
        names,
      );
}
