/**
 * Own scorers beside load. First the cost of the boundary: a run in a process of its own, in batches, against the same run in
 * this process. Then acknowledgements: the p99 of OTLP requests to a running `serve`, alternately without and with own scorers of
 * each bad kind, each of which gets `traces` traces. `node test/bench/guests.ts [rounds=5] [traces=100] [requests=300]`
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { GuestWorld } from '../support/scoring/guest-world.ts';
import { sendTraces, ServeFolder } from '../support/processes/serve-process.ts';
import type { LoadOrder, LoadReport } from './load-generator.ts';
import { attribute, traceRequest } from '../support/builders/otlp-requests.ts';

const [rounds = 5, traces = 100, requests = 300] = process.argv.slice(2).map(Number);
const DIFFERENT_REQUESTS = 100;
const CONCURRENCY = 4;

/** `run` of each bad kind. */
const BAD = {
  loop: 'async () => { for (;;); }',
  never: 'async () => new Promise(() => undefined)',
  crash:
    "async () => { setTimeout(() => { throw new Error('too late'); }); await new Promise(() => undefined); }",
  heap: 'async () => { const all = []; for (;;) all.push({ size: all.length, list: [all.length] }); }',
  buffers: 'async () => { const all = []; for (;;) all.push(Buffer.alloc(8e6, 1)); }',
  native:
    'async () => { const all = []; for (;;) all.push(new SharedArrayBuffer(8e6), new Uint8Array(8e6).fill(1)); }',
  exit: 'async () => process.exit(0)',
  nan: 'async () => ({ score: NaN })',
};

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Milliseconds that a run costs in a process of its own, beyond what it costs here. */
async function measureBoundary(): Promise<number> {
  const runs = 2_000;
  const batch = 16;
  const world = new GuestWorld();
  const { scorer } = await world.bind('quick', 'async ({ output }) => ({ score: output.length })');
  const here = { run: async ({ output }: { output: unknown[] }) => ({ score: output.length }) };
  const input = {
    output: [{ role: 'assistant', content: { parts: [{ type: 'text', text: 'x'.repeat(1_500) }] } }],
  };
  const measure = async (run: (given: typeof input) => Promise<unknown>): Promise<number> => {
    const startedMs = performance.now();
    for (let done = 0; done < runs; done += batch) {
      await Promise.all(Array.from({ length: batch }, () => run(input)));
    }
    return (performance.now() - startedMs) / runs;
  };
  const costs: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const cost = (await measure((given) => scorer.run(given))) - (await measure((given) => here.run(given)));
    if (round >= 0) {
      costs.push(cost);
    }
  }
  await world.close();
  return median(costs);
}

async function load(generator: ChildProcess, port: number): Promise<LoadReport> {
  const answered = once(generator, 'message');
  generator.send({ road: 'HTTP protobuf', port, requests, concurrency: CONCURRENCY } satisfies LoadOrder);
  const [report] = (await answered) as [LoadReport];
  if (report.statuses['200'] !== requests) {
    throw new Error(`not every request was taken: ${JSON.stringify(report.statuses)}`);
  }
  return report;
}

/** A trace of one agent run that only the bad scorers' rule takes. */
function badTrace(): unknown {
  const id = (bytes: number) =>
    Array.from({ length: bytes * 2 }, () => Math.floor(Math.random() * 16).toString(16)).join('');
  const message = (role: string, content: string) =>
    JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
  const nowNano = String(BigInt(Date.now()) * 1_000_000n);
  return traceRequest(
    [
      {
        traceId: id(16),
        spanId: id(8),
        name: 'invoke_agent bad',
        kind: 1,
        startTimeUnixNano: nowNano,
        endTimeUnixNano: nowNano,
        attributes: [
          attribute('gen_ai.operation.name', 'invoke_agent'),
          attribute('gen_ai.agent.name', 'bad'),
          attribute('gen_ai.input.messages', message('user', 'How is the weather?')),
          attribute('gen_ai.output.messages', message('assistant', 'It rains.')),
        ],
        status: { code: 1 },
      },
    ],
    'bad-traffic',
  );
}

async function decided(folder: ServeFolder): Promise<string> {
  const { api } = folder.addresses();
  const text = await (await fetch(`${api}/metrics`)).text();
  return text
    .split('\n')
    .filter((line) => /^spanscore_(guest_(faults|paused)|decisions)/.test(line))
    .join('\n');
}

/** Requests beside every bad scorer, in rounds that take turns with rounds beside none. */
async function measureLoad(): Promise<{ without: number[]; with: number[] }> {
  const names = Object.keys(BAD);
  const folder = new ServeFolder({
    scorers: Object.fromEntries(
      names.map((name) => [name, { module: `./${name}.mjs`, limits: { timeout: '1s', memory: '128MiB' } }]),
    ),
    rules: [{ name: 'bad', scorers: names, where: { service: 'bad-traffic' } }],
    log: { level: 'error' },
  });
  for (const [name, run] of Object.entries(BAD)) {
    writeFileSync(
      join(folder.path, `${name}.mjs`),
      `export default { id: '${name}', judgeModel: '', run: ${run} };`,
    );
  }
  const generator = fork(join(import.meta.dirname, 'load-generator.ts'), [String(DIFFERENT_REQUESTS)]);
  const ready = once(generator, 'message');
  const found = { without: [] as number[], with: [] as number[] };
  try {
    const { otlpHttp } = await folder.start();
    const port = Number(new URL(otlpHttp).port);
    await ready;
    await load(generator, port);
    for (let round = 0; round < rounds; round += 1) {
      // What the round before has left in the queues is done first.
      await sleep(5_000);
      found.without.push(p99(await load(generator, port)));
      for (let sent = 0; sent < Math.ceil(traces / rounds); sent += 1) {
        await sendTraces(otlpHttp, badTrace());
      }
      await sleep(2_000);
      found.with.push(p99(await load(generator, port)));
    }
    console.log(await decided(folder));
    console.log(`stopped with ${await folder.stop()}`);
  } finally {
    generator.disconnect();
    await folder.dispose();
  }
  return found;
}

function p99({ latenciesMs }: LoadReport): number {
  return latenciesMs[Math.floor(latenciesMs.length * 0.99)] ?? Number.NaN;
}

console.log(`load ${loadavg()[0]?.toFixed(1)} before`);
const boundaryMs = await measureBoundary();
console.log(`boundary: ${boundaryMs.toFixed(3)} ms a run in batches (goal: at most 0.3)`);
const { without, with: beside } = await measureLoad();
const shown = (values: readonly number[]) => values.map((value) => value.toFixed(0)).join(' ');
console.log(`p99 of acknowledgements, ms: without ${shown(without)}; beside bad scorers ${shown(beside)}`);
const ratio = median(beside) / median(without);
console.log(
  `medians: ${median(without).toFixed(0)} and ${median(beside).toFixed(0)}, ratio ${ratio.toFixed(2)} (goal: at most 1.5)`,
);
