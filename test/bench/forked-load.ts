import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadOrder, LoadReport } from './load-generator.ts';

/** The load generator in its process. */
export interface ForkedLoad {
  /** Sends the requests of an order. Throws when one of them is refused. */
  run(order: LoadOrder): Promise<LoadReport>;
  stop(): void;
}

/** Starts a load generator with a number of different requests. Returns when it has prepared them. */
export async function forkLoad(differentRequests: number): Promise<ForkedLoad> {
  const generator = fork(join(import.meta.dirname, 'load-generator.ts'), [String(differentRequests)]);
  await once(generator, 'message');
  return { run: (order) => run(generator, order), stop: () => generator.disconnect() };
}

async function run(generator: ChildProcess, order: LoadOrder): Promise<LoadReport> {
  const answered = once(generator, 'message');
  generator.send(order);
  const [report] = (await answered) as [LoadReport];
  const refused = Object.entries(report.statuses).filter(([status]) => status !== '200');
  if (refused.length > 0) {
    throw new Error(`not every request was taken: ${JSON.stringify(report.statuses)}`);
  }
  return report;
}
