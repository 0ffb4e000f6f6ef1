import { countedMetrics } from '../collector/counted-metrics.ts';
import { startCollector, type Collector } from '../../../collector/collector.ts';
import { parseConfig, type ConfigInput } from '../../../src/configuration.ts';
import { configureSources, type ConfiguredSources } from '../../../src/sources/start-sources.ts';
import type { EngineFiles } from '../../../src/store/foreign/engine-files.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { recordingLetters, type RecordingLetters } from '../fakes/recording-letters.ts';
import { recordingSink, type RecordingSink } from '../fakes/recording-sink.ts';

/** What stays when a process is killed: the stored rows and the cursors. */
export interface SourceWorld {
  readonly sink: RecordingSink;
  readonly letters: RecordingLetters;
  /** Cursors as JSON, by source and key. */
  readonly cursors: Map<string, Map<string, string>>;
  /** Starts a process that reads the sources. */
  start(sources: ConfigInput['sources']): Promise<SourceProcess>;
  stop(): Promise<void>;
}

export interface SourceProcess {
  readonly states: ConfiguredSources['states'];
  /** From now on, this process stores and records nothing. */
  kill(): void;
  stop(): Promise<void>;
}

/** An engine that reads no file. */
export const noEngineFiles: EngineFiles = {
  list: () => Promise.reject(new Error('there is no engine')),
  read: () => Promise.reject(new Error('there is no engine')),
};

/** Creates a store in memory on which processes read sources. Their looks follow each other at once. */
export function sourceWorld(engineFiles: EngineFiles = noEngineFiles): SourceWorld {
  const sink = recordingSink();
  const letters = recordingLetters();
  const cursors: SourceWorld['cursors'] = new Map();
  const running: Collector[] = [];
  return {
    sink,
    letters,
    cursors,
    async start(sources) {
      let isKilled = false;
      const alive = <T>(call: () => T): T => {
        if (isKilled) {
          throw new Error('this process was killed');
        }
        return call();
      };
      const configured = configureSources(parseConfig({ sources }).sources, {
        engineFiles,
        cursors: {
          read: async (source) =>
            new Map(
              [...(cursors.get(source) ?? [])].map(([key, text]) => [key, JSON.parse(text) as unknown]),
            ),
          write: async (source, key, cursor) =>
            alive(() => {
              const ofSource = cursors.get(source) ?? new Map<string, string>();
              cursors.set(source, ofSource.set(key, JSON.stringify(cursor)));
            }),
        },
        startDuties: () => ({
          join: () => undefined,
          readEpoch: async () => (isKilled ? undefined : 1),
          leave: async () => undefined,
          stop: () => undefined,
        }),
        timers: {
          sleep: (_, signal) =>
            new Promise((resolve) => {
              const timer = setTimeout(resolve, 5);
              signal.addEventListener('abort', () => {
                clearTimeout(timer);
                resolve();
              });
            }),
        },
      });
      const collector = await startCollector({
        sink: { ...sink, insert: (block, token) => alive(() => sink.insert(block, token)) },
        deadLetters: letters,
        log: silentLog,
        limits: { batchAgeMs: 1 },
        receivers: new Map([['sources', configured.start]]),
        metrics: countedMetrics(),
      });
      running.push(collector);
      return {
        states: configured.states,
        kill: () => {
          isKilled = true;
        },
        stop: () => collector.stop(),
      };
    },
    stop: async () => void (await Promise.all(running.splice(0).map((each) => each.stop()))),
  };
}
