import { setTimeout as sleep } from 'node:timers/promises';
import { startCli } from '../processes/cli.ts';
import { until } from '../until.ts';
import type { KeptServe } from './kept-serve.ts';
import type { ConfigChanges, OverlapFleet } from './overlap-fleet.ts';
import type { JudgeMode } from './recording-judge.ts';
import type { ReceiverMode } from './score-receiver.ts';

const LATEST_BEGIN_MS = 4_000;
/** Number of traces that get a late span. */
const LATE_SPANS = 4;
const COMMAND_WITHIN_MS = 120_000;

/** A fault of the catalogue. `lastsMs` is used by faults that last for a while. */
interface Fault {
  readonly shortestMs?: number;
  readonly longestMs?: number;
  run(fleet: OverlapFleet, drawn: Drawn): Promise<void>;
}

interface Drawn {
  readonly scorer: KeptServe;
  readonly lastsMs: number;
  /** Random number in [0, 1). */
  readonly choice: number;
}

function change(changes: ConfigChanges): Fault {
  return { run: (fleet, { scorer }) => fleet.reconfigure(scorer, changes) };
}

function judgeFault(mode: JudgeMode): Fault {
  return {
    shortestMs: 3_000,
    longestMs: 10_000,
    run: async ({ judge }, { lastsMs }) => {
      judge.mode = mode;
      await sleep(lastsMs);
      judge.mode = 'ok';
    },
  };
}

function receiverFault(mode: ReceiverMode): Fault {
  return {
    shortestMs: 3_000,
    longestMs: 10_000,
    run: async ({ exports }, { lastsMs }) => {
      exports.mode = mode;
      await sleep(lastsMs);
      exports.mode = 'ok';
    },
  };
}

/** Runs a command beside the fleet. Kills it after `killAfterMs`. */
async function runBeside(
  fleet: OverlapFleet,
  args: readonly string[],
  killAfterMs = COMMAND_WITHIN_MS,
): Promise<void> {
  const { child, ended } = startCli([...args, '--config', fleet.configureCommand(args[0] ?? '')], {
    stdin: '',
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  await ended;
  clearTimeout(timer);
}

/** The catalogue. A fault of a scorer hits one of the two. */
const FAULTS = {
  'scorer: SIGTERM and restart': { run: (_, { scorer }) => scorer.restart('SIGTERM') },
  'scorer: SIGKILL and restart': { run: (_, { scorer }) => scorer.restart('SIGKILL') },
  'scorer: SIGSTOP': {
    // Longer than a member without a beat counts as alive.
    shortestMs: 17_000,
    longestMs: 22_000,
    run: (_, { scorer, lastsMs }) => scorer.stall(lastsMs),
  },
  'scorer: restart with another judge': change({ otherJudge: true }),
  'scorer: restart with one more scorer': change({ addedScorer: true }),
  'scorer: restart with one rule less': change({ removedRule: true }),
  'engine: SIGKILL': {
    run: async (fleet) => {
      const fromMs = Date.now();
      await until(() => fleet.signalEngine('SIGKILL'));
      await sleep(3_000);
      fleet.home.disturb(fromMs);
    },
  },
  'engine: SIGSTOP': {
    shortestMs: 2_000,
    longestMs: 8_000,
    run: async (fleet, { lastsMs }) => {
      const fromMs = Date.now();
      fleet.signalEngine('SIGSTOP');
      await sleep(lastsMs);
      fleet.signalEngine('SIGCONT');
      fleet.home.disturb(fromMs);
    },
  },
  'store: SIGTERM and restart': { run: ({ home }) => home.restart('SIGTERM') },
  'store: SIGKILL and restart': { run: ({ home }) => home.restart('SIGKILL') },
  'store: SIGKILL with its engine, and restart': { run: ({ home }) => home.restart('SIGKILL group') },
  'judge: slow': judgeFault('slow'),
  'judge: 429': judgeFault('429'),
  'judge: 503': judgeFault('503'),
  'judge: 404': judgeFault('404'),
  'judge: malformed replies': judgeFault('lies'),
  'receiver of scores: down': {
    shortestMs: 3_000,
    longestMs: 10_000,
    run: async ({ exports }, { lastsMs }) => {
      await exports.stop();
      await sleep(lastsMs);
      await exports.start();
    },
  },
  'receiver of scores: slow': receiverFault('slow'),
  'receiver of scores: 500': receiverFault('failing'),
  'receiver of scores: refuses one score': receiverFault('refuses one'),
  'command: backfill': { run: (fleet) => runBeside(fleet, ['backfill', '--from', '1h']) },
  'command: backfill, killed': {
    shortestMs: 500,
    longestMs: 4_000,
    run: (fleet, { lastsMs }) => runBeside(fleet, ['backfill', '--from', '1h'], lastsMs),
  },
  'command: score': {
    run: async (fleet, { choice }) => {
      const traceIds = [...fleet.traces.acknowledged.keys()];
      const traceId = traceIds[Math.floor(choice * traceIds.length)];
      if (traceId !== undefined) {
        await runBeside(fleet, ['score', traceId, '--write']);
      }
    },
  },
  'sender: late spans': {
    run: async ({ traces }, { choice }) => {
      await Promise.all(
        Array.from({ length: LATE_SPANS }, (_, n) => traces.sendLateSpan((choice + n / LATE_SPANS) % 1)),
      );
    },
  },
} satisfies Record<string, Fault>;

type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES = Object.keys(FAULTS) as readonly FaultName[];

/** A fault with its random choices. The same random numbers give the same plan. */
export interface PlannedFault {
  readonly name: FaultName;
  readonly scorer: 0 | 1;
  readonly beginsMs: number;
  readonly lastsMs: number;
  readonly choice: number;
}

/** Draws two different faults of the catalogue, and their times. */
export function drawFaults(random: () => number): PlannedFault[] {
  const draw = (among: readonly FaultName[]): PlannedFault => {
    const name = among[Math.floor(random() * among.length)] ?? 'sender: late spans';
    const { shortestMs = 0, longestMs = 0 }: Fault = FAULTS[name];
    return {
      name,
      scorer: random() < 0.5 ? 0 : 1,
      beginsMs: Math.round(random() * LATEST_BEGIN_MS),
      lastsMs: Math.round(shortestMs + random() * (longestMs - shortestMs)),
      choice: random(),
    };
  };
  const first = draw(FAULT_NAMES);
  return [first, draw(FAULT_NAMES.filter((name) => name !== first.name))];
}

/** Carries out planned faults at their times. Resolves when all have ended. */
export async function carryOutFaults(fleet: OverlapFleet, faults: readonly PlannedFault[]): Promise<void> {
  await Promise.all(
    faults.map(async ({ name, scorer, beginsMs, lastsMs, choice }) => {
      await sleep(beginsMs);
      const hit = fleet.scorers[scorer];
      if (hit !== undefined) {
        await FAULTS[name].run(fleet, { scorer: hit, lastsMs, choice });
      }
    }),
  );
}

/** Describes a fault for a person who repeats it: `scorer b: SIGSTOP, from 1.2 s, for 19.0 s`. */
export function describeFault({ name, scorer, beginsMs, lastsMs }: PlannedFault): string {
  const who = name.replace('scorer:', `scorer ${scorer === 0 ? 'a' : 'b'}:`);
  const duration = lastsMs === 0 ? '' : `, for ${(lastsMs / 1_000).toFixed(1)} s`;
  return `${who}, from ${(beginsMs / 1_000).toFixed(1)} s${duration}`;
}
