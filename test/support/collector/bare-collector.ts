/**
 * Collector in its own process. Its store accepts everything at once, or never answers (`hangs`). Prints its port and its
 * memory, and at the end its peak memory, in MiB.
 */
import { silentLog } from '../../../src/telemetry/log.ts';
import { startTestCollector } from './test-collector.ts';

const takesAll = (): Promise<void> => Promise.resolve();
const hangs = (): Promise<void> => Promise.withResolvers<void>().promise;
const isHanging = process.argv[2] === 'hangs';
const collector = await startTestCollector({
  sink: {
    insert: isHanging ? hangs : takesAll,
    check: takesAll,
    probe: takesAll,
    readFreeBytes: () => Promise.resolve(null),
  },
  deadLetters: { write: takesAll },
  http: { host: '127.0.0.1', port: 0 },
  limits: isHanging ? { answerWithinMs: 500 } : {},
  log: silentLog,
});
console.log(JSON.stringify({ port: collector.address.port, mib: process.memoryUsage().rss / 2 ** 20 }));
process.on('SIGTERM', () => {
  console.log(JSON.stringify({ mib: process.resourceUsage().maxRSS / 1024 }));
  process.exit(0);
});
