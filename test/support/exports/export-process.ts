import type { DeliveryLoop } from '../../../src/delivery/deliver.ts';
import { startScoreDelivery } from '../../../src/delivery/deliver-scores.ts';
import type { ScoreExporter } from '../../../src/delivery/exporters/exporter.ts';
import { createWebhookExporter } from '../../../src/delivery/exporters/webhook.ts';
import { startDuties, type DutyBeats } from '../../../src/ownership/duties.ts';
import type { Store } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';

/** Short times, so that a test sees a takeover after seconds. */
const DUTY_TIMES = { settleMs: 150, lookEveryMs: 200, beatEveryMs: 400, ttlMs: 2_500 };

/** The exporting part of one process on a store. */
export interface ExportProcess {
  readonly loop: DeliveryLoop;
  /** Ends like `serve` at a stop. */
  stop(): Promise<void>;
  /** Ends as after a kill: nothing is recorded, nothing is left. */
  kill(): void;
  /** Holds this process's beats and reads of members back until `resume`, as while it is stopped by a signal. */
  stall(): void;
  resume(): void;
}

export async function startExportProcess(
  store: Store,
  exporters: readonly ScoreExporter[],
  options: Parameters<typeof startScoreDelivery>[1] = {},
): Promise<ExportProcess> {
  let isKilled = false;
  let stalled = Promise.withResolvers<void>();
  stalled.resolve();
  const pass = async <T>(call: () => Promise<T>): Promise<T> => {
    await stalled.promise;
    if (isKilled) {
      throw new Error('this process was killed');
    }
    return call();
  };
  const guarded: DutyBeats = {
    nameMember: () => store.duties.nameMember(),
    beat: (beats) => pass(() => store.duties.beat(beats)),
    readMembers: (names, ttlMs) => pass(() => store.duties.readMembers(names, ttlMs)),
  };
  const { scoreFeed } = store;
  const duties = startDuties(guarded, DUTY_TIMES);
  duties.join(exporters.map(({ name }) => name));
  const loop = await startScoreDelivery(
    exporters,
    { intervalMs: 100, firstRetryMs: 20, maxRetryMs: 200, drainMs: 5_000, ...options },
    {
      feed: { ...scoreFeed, record: (exporter, results) => pass(() => scoreFeed.record(exporter, results)) },
      deadLetters: store.deadLetters,
      duties,
      log: silentLog,
      random: () => 0.5,
    },
  );
  return {
    loop,
    stop: async () => {
      await loop.stop();
      duties.stop();
    },
    kill: () => {
      isKilled = true;
      duties.stop();
    },
    stall: () => {
      stalled = Promise.withResolvers<void>();
    },
    resume: () => stalled.resolve(),
  };
}

/** A web hook under a name of its own, so that tests of one store do not share deliveries. */
export function aWebhook(url: string, { name = 'webhook', attempts = 3 } = {}): ScoreExporter {
  return { ...createWebhookExporter({ url, attempts, timeoutMs: 2_000 }), name };
}
