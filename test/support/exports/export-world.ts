import { afterAll, afterEach, beforeAll } from 'vitest';
import type { Score } from '../../../src/domain/score.ts';
import { startHttpReceiver, type HttpReceiver } from '../fakes/http-receiver.ts';
import { buildScore, testStore, type TestStore } from '../store/store-rows.ts';
import { startExportProcess, type ExportProcess } from './export-process.ts';

type StartTerms = Parameters<typeof startExportProcess> extends [unknown, ...infer Rest] ? Rest : never;

/** A store with scores, a receiver of exported scores, and the processes of one test. */
export interface ExportWorld extends Pick<TestStore, 'store' | 'options'> {
  readonly receiver: HttpReceiver;
  /** Starts a process that exports. It stops with the test. */
  readonly start: (...terms: StartTerms) => Promise<ExportProcess>;
  /** Stores new scores. `prepare` gets them before: an exporter may send a score before the write has returned. */
  readonly write: (count: number, prepare?: (scores: readonly Score[]) => void) => Promise<Score[]>;
}

/** Registers the hooks of a file of tests. */
export function describeExports(): ExportWorld {
  let base: TestStore;
  let receiver: HttpReceiver;
  const running: ExportProcess[] = [];
  beforeAll(async () => {
    receiver = await startHttpReceiver();
    base = await testStore();
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop()));
    receiver.answer(200);
    receiver.requests.length = 0;
  });
  afterAll(async () => {
    await base.stop();
    await receiver.close();
  });
  return {
    get store() {
      return base.store;
    },
    get options() {
      return base.options;
    },
    get receiver() {
      return receiver;
    },
    async start(...terms) {
      const started = await startExportProcess(base.store, ...terms);
      running.push(started);
      return started;
    },
    async write(count, prepare) {
      const scores = Array.from({ length: count }, () => buildScore());
      prepare?.(scores);
      await base.store.scores.write(scores);
      return scores;
    },
  };
}

/** Returns the id under which a revision of a score is sent. */
export function idOfDelivery({ scoreId, revision }: Pick<Score, 'scoreId' | 'revision'>): string {
  return `${scoreId}.${revision}`;
}

/** Counts the scores that a process has delivered to an exporter. */
export function countDelivered({ loop }: ExportProcess, exporter: string): number {
  return loop.counts().get(exporter)?.delivered ?? 0;
}
