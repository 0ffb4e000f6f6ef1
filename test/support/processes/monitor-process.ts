/**
 * Process that evaluates the monitors of a store at the times of its job, in order. After each time it sends the alerts to
 * a web hook. It prints each time before the evaluation, and ends after the last.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { createEvaluator } from '../../../src/monitors/evaluator.ts';
import type { MonitorGroup } from '../../../src/monitors/rule.ts';
import { openStore, type StoreOptions } from '../../../src/store/store.ts';
import { createWebhookPass } from '../monitors/webhook-pass.ts';

export interface MonitorJob {
  readonly options: StoreOptions;
  readonly webhook: string;
  readonly groups: readonly MonitorGroup[];
  readonly clocksMs: readonly number[];
}

const { options, webhook, groups, clocksMs } = JSON.parse(process.argv[2] ?? '') as MonitorJob;
const store = await openStore({ ...options, migrate: false });
let nowMs = 0;
const evaluator = createEvaluator(groups, {
  store: { ...store.monitors, nowMs: () => Promise.resolve(nowMs) },
  turn: () => pause(),
  warn: (message) => console.error(message),
});
const delivery = createWebhookPass({ name: 'ops', url: webhook }, store);
for (nowMs of clocksMs) {
  console.log(nowMs);
  await evaluator.advance();
  await delivery.pass();
}
await store.close();
