import { parseArgs } from 'node:util';
import { DEFAULT_FLEET, type FleetSettings } from './fleet-settings.ts';

type NumberName = {
  [K in keyof FleetSettings]: FleetSettings[K] extends number ? K : never;
}[keyof FleetSettings];

/** Least value of each number, and its greatest when it is a share. `isWhole`: only whole numbers mean something. */
const RANGES: Readonly<Record<NumberName, { least: number; most?: number; isWhole?: true }>> = {
  spansPerSecond: { least: 1 },
  spansPerTrace: { least: 1 },
  scorers: { least: 1, most: 1_024, isWhole: true },
  seconds: { least: 1, most: 14_400, isWhole: true },
  killEveryS: { least: 0, isWhole: true },
  restartS: { least: 1, isWhole: true },
  places: { least: 1, isWhole: true },
  judgeMs: { least: 1 },
  slowFactor: { least: 1 },
  slowForS: { least: 0 },
  slowEveryS: { least: 1 },
  budgetPerDayUsd: { least: 0.01 },
  newestShare: { least: 0, most: 1 },
  seed: { least: 0, isWhole: true },
};

/** Returns the settings of a command line. Throws an error that names the option and its range. */
export function readFleetOptions(args: readonly string[]): FleetSettings {
  const names = Object.keys(RANGES) as NumberName[];
  const options = Object.fromEntries(names.map((name) => [toOption(name), { type: 'string' as const }]));
  const { values } = parseArgs({ args: [...args], options });
  const given = names.flatMap((name) => {
    const text = values[toOption(name)];
    return typeof text === 'string' ? [[name, readNumber(name, text)] as const] : [];
  });
  return { ...DEFAULT_FLEET, ...Object.fromEntries(given) };
}

function readNumber(name: NumberName, text: string): number {
  const { least, most = Number.MAX_SAFE_INTEGER, isWhole = false } = RANGES[name];
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (!(value >= least && value <= most) || (isWhole && !Number.isInteger(value))) {
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`;
    throw new Error(
      `--${toOption(name)} is "${text}": write a ${isWhole ? 'whole number' : 'number'}, ${range}`,
    );
  }
  return value;
}

/** Returns the option of a setting: `--kill-every-s` for `killEveryS`. */
function toOption(name: NumberName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
