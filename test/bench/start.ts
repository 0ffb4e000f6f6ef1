/**
 * Processor time of short commands of the built package: the help, traces beside a `serve`, and the scores of a file; and the time until
 * `demo --keep` shows its first alert. Build it first: `npm run build`. `node test/bench/start.ts [--rounds 5] [--against <built checkout>]`;
 * two checkouts take turns.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ServeFolder } from '../support/processes/serve-process.ts';
import { atMost, head, row, shown, sumUp, verdictOn } from './bench-table.ts';
import { median } from './measured-time.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, against: { type: 'string' } },
});
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SPANS = join(ROOT, 'test/fixtures/spans-multi/openinference-langchain-py-s2.traces.jsonl');
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Lines with the most processor time of a start, seconds. */
const LINES = [
  { args: ['--help'], mostS: 0.3 },
  { args: ['traces'], mostS: 0.5 },
  { args: ['score', SPANS, '--scorer', 'keyword-coverage,tone'], mostS: 1 },
];

/** Returns the processor time of all children that have ended, seconds. */
function readChildrenSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /su, '')
    .split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}

function measure(checkout: string, args: readonly string[], cwd: string): number {
  const before = readChildrenSeconds();
  execFileSync(process.execPath, [join(checkout, 'dist/src/cli/main.js'), ...args], { cwd, stdio: 'ignore' });
  return readChildrenSeconds() - before;
}

/** Longest time until the demonstration has an alert that a person can act on, seconds. */
const FIRST_ALERT_S = 60;

/** Returns the time until the demonstration, which prints its address once its incident is open, does so, seconds. */
async function measureFirstAlert(checkout: string): Promise<number> {
  const cwd = mkdtempSync(join(tmpdir(), 'spanscore-first-alert-'));
  const startedMs = performance.now();
  const argv = [join(checkout, 'dist/src/cli/main.js'), 'demo', '--keep', '--json'];
  const child = spawn(process.execPath, argv, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    const [first] = (await Promise.race([once(child.stdout, 'data'), ended])) as unknown[];
    if (typeof first === 'number' || first === null) {
      throw new Error(`the demonstration ended with ${first}: run it alone to see why`);
    }
    return (performance.now() - startedMs) / 1_000;
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(cwd, { recursive: true, force: true });
  }
}

const sides = [ROOT, ...(values.against === undefined ? [] : [values.against])];
const folder = new ServeFolder({ rules: [], log: { level: 'error' } });
console.log(`Node.js ${process.version}, load ${loadavg()[0]?.toFixed(1)} before; ${values.rounds} rounds`);
try {
  await folder.start();
  head('Start of commands, seconds of processor', 'command', 'this checkout', 'the other', 'goal');
  for (const { args, mostS } of LINES) {
    const found = sides.map(() => new Array<number>());
    // The first round fills the cache of compiled modules and is not counted.
    for (let round = -1; round < Number(values.rounds); round += 1) {
      sides.forEach((side, index) => {
        const seconds = measure(side, args, folder.path);
        if (round >= 0) {
          found[index]?.push(seconds);
        }
      });
    }
    const [ours = Number.NaN, other] = found.map(median);
    const name = args[0] ?? '';
    const verdict = verdictOn(name, [atMost(ours, mostS, 's')]);
    row(name, shown(ours), other === undefined ? '–' : shown(other), verdict);
  }
  await folder.stop();
  const seconds = await measureFirstAlert(ROOT);
  head('First alert of the demonstration', 'seconds', 'goal');
  row(seconds, verdictOn('first alert', [atMost(seconds, FIRST_ALERT_S, 's')]));
  sumUp();
} finally {
  await folder.dispose();
}
