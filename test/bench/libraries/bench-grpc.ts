import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createCounter } from '../../../collector/counts.ts';
import type { TakeRequest } from '../../../collector/ingest.ts';
import { type CollectorLimits, DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { createMemoryLimiter } from '../../../collector/memory-limiter.ts';
import { decodeRequest } from '../../../collector/otlp/decode-request.ts';
import { startOtlpGrpc } from '../../../collector/receivers/otlp-grpc.ts';
import { createDropMetrics } from '../../../collector/drop-metrics.ts';
import type { ReceiverDependencies } from '../../../collector/receivers/receiver.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { framed, grpcConnection, TRACES_METHOD } from '../../support/collector/grpc-call.ts';
import { atMost, head, row, verdictOn } from '../bench-table.ts';
import type { GrpcRoad, LoadOrder, LoadReport } from '../load-generator.ts';
import { median } from '../measured-time.ts';
import { startGrpcByLibrary } from './grpc-by-library.ts';
import { isWorthIt } from './worth-it.ts';

const DIFFERENT_REQUESTS = 50;
const CONCURRENCY = 24;
const ROADS: readonly (readonly [road: GrpcRoad, calls: number])[] = [
  ['gRPC', 150],
  ['gRPC, plain', 150],
  ['gRPC, plain, 1 span', 1500],
];

const MIB = 1024 * 1024;
const UNFINISHED_CALLS = 32;
const UNFINISHED_BYTES = 4 * MIB;
const UNFINISHED_LIMIT_BYTES = 32 * MIB;
/** Memory that reads under way may add, MiB. */
const LATE_MIB = 4;
const SETTLE_MS = 2_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const ALONE = 'answers at once';
const ANSWER_AT_ONCE: TakeRequest = () =>
  Promise.resolve({ rejected: 0, setAside: 0, purged: 0, reasons: [] });
const HANDLERS: Readonly<Record<string, TakeRequest>> = {
  [ALONE]: ANSWER_AT_ONCE,
  'makes rows': ({ signal, encoding, body, origin }) => {
    const { rejected, reasons } = decodeRequest(signal, encoding, body, origin.tenant);
    return Promise.resolve({ rejected, setAside: 0, purged: 0, reasons });
  },
};

/** CPU time of the server for a call, then the memory that calls hold which do not end: own server, and the library's. */
export async function benchGrpc(rounds: number): Promise<void> {
  head(
    'A gRPC call over loopback, CPU milliseconds of the server',
    'calls, handler',
    'spanscore',
    '@grpc/grpc-js',
    'ratio',
    'goal',
  );
  const generator = fork(fileURLToPath(new URL('../load-generator.ts', import.meta.url)), [
    String(DIFFERENT_REQUESTS),
  ]);
  await once(generator, 'message');
  for (const [handler, take] of Object.entries(HANDLERS)) {
    await benchHandler(generator, [handler, take], rounds);
  }
  generator.disconnect();
  await benchUnfinishedCalls();
}

async function benchHandler(
  generator: ChildProcess,
  [handler, take]: readonly [string, TakeRequest],
  rounds: number,
): Promise<void> {
  const deps = createDependencies(take, DEFAULT_COLLECTOR_LIMITS);
  const own = await startOtlpGrpc({ host: '127.0.0.1', port: 0 }, deps);
  const library = await startGrpcByLibrary(deps);
  for (const [road, requests] of ROADS) {
    const measured: (readonly [own: number, library: number])[] = [];
    for (let round = -1; round < rounds; round++) {
      const order = { road, requests, concurrency: CONCURRENCY };
      const ownMs = await computeCallMs(generator, { ...order, port: own.address.port });
      const libraryMs = await computeCallMs(generator, { ...order, port: library.port });
      // The first round warms up and is not counted.
      measured.push(...(round < 0 ? [] : [[ownMs, libraryMs] as const]));
    }
    const ratio = median(measured.map(([mine, other]) => other / mine));
    const name = `${road}, ${handler}`;
    // The goal is the server's own part; rows cost both sides the same.
    const verdict = verdictOn(name, handler === ALONE ? [isWorthIt(ratio)] : []);
    const [ownMs, libraryMs] = [median(measured.map(([ms]) => ms)), median(measured.map(([, ms]) => ms))];
    row(name, ownMs, libraryMs, `${ratio.toFixed(2)}×`, verdict);
  }
  await own.stop();
  library.stop();
}

function createDependencies(take: TakeRequest, limits: CollectorLimits): ReceiverDependencies {
  return {
    take,
    dropMetrics: createDropMetrics(limits, createLog('warn')),
    limits,
    limiter: createMemoryLimiter(limits.maxInFlightBytes, limits.retryAfterMs),
    counter: createCounter(),
    authenticate: () => ({ tenant: '' }),
    log: createLog('warn'),
  };
}

/** CPU time of this process for one call, its thread pool and garbage collection included. */
async function computeCallMs(generator: ChildProcess, order: LoadOrder): Promise<number> {
  const before = process.cpuUsage();
  const answered = once(generator, 'message');
  generator.send(order);
  const [{ statuses }] = (await answered) as [LoadReport];
  const { user, system } = process.cpuUsage(before);
  if (statuses['200'] !== order.requests) {
    throw new Error(`not every call was taken: ${JSON.stringify(statuses)}`);
  }
  return (user + system) / 1000 / order.requests;
}

/** Memory in buffers while many calls have sent a part of their message, and no more comes. */
async function benchUnfinishedCalls(): Promise<void> {
  const limitMib = UNFINISHED_LIMIT_BYTES / MIB;
  const sentMib = (UNFINISHED_CALLS * UNFINISHED_BYTES) / MIB;
  head(
    `Memory that ${UNFINISHED_CALLS} calls hold which sent ${sentMib} MiB and do not end, MiB`,
    'limit over all calls',
    'spanscore',
    '@grpc/grpc-js',
    'goal',
  );
  const limits = { ...DEFAULT_COLLECTOR_LIMITS, maxInFlightBytes: UNFINISHED_LIMIT_BYTES };
  const deps = createDependencies(ANSWER_AT_ONCE, limits);
  const own = await startOtlpGrpc({ host: '127.0.0.1', port: 0 }, deps);
  const library = await startGrpcByLibrary(deps);
  const ownMib = await holdUnfinished(own.address.port);
  const libraryMib = await holdUnfinished(library.port);
  const goal = atMost(ownMib, limitMib + LATE_MIB, 'MiB');
  row(`${limitMib} MiB`, ownMib, libraryMib, verdictOn('Memory of unfinished calls', [goal]));
  await own.stop();
  library.stop();
}

/** Growth of this process's buffers by unfinished calls, MiB. */
async function holdUnfinished(port: number): Promise<number> {
  const session = grpcConnection({ host: '127.0.0.1', port });
  const part = framed(Buffer.alloc(UNFINISHED_BYTES * 2)).subarray(0, UNFINISHED_BYTES);
  const before = bufferMib();
  const calls = Array.from({ length: UNFINISHED_CALLS }, async () => {
    const stream = session.request({
      ':method': 'POST',
      ':path': TRACES_METHOD,
      'content-type': 'application/grpc',
    });
    stream.on('error', () => undefined);
    await new Promise((resolve) => stream.write(part, resolve));
  });
  await Promise.all(calls);
  await setTimeout(SETTLE_MS);
  const grown = bufferMib() - before;
  session.destroy();
  await setTimeout(SETTLE_MS);
  return grown;
}

function bufferMib(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers / MIB;
}
