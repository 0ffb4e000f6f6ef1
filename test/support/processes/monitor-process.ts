/**
 * A process that evaluates monitors on a store at the times that its job names, one after the other, tells a web hook after
 * each what was found, and ends. It prints each time before it comes to it.
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
const pass = createWebhookPass({ name: 'ops', url: webhook }, store);
for (nowMs of clocksMs) {
  console.log(nowMs);
  await evaluator.advance();
  await pass.run();
}
await store.close();
