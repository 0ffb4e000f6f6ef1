import type { Trajectory } from '../../evals/trajectory/trajectory.ts';

export interface BlacklistOptions {
  readonly blacklistedTools?: readonly string[] | undefined;
  readonly blacklistedSequences?: readonly (readonly string[])[] | undefined;
}

export interface TrajectoryBlacklist {
  /** 1 when nothing forbidden occurred, else 0. */
  score: number;
  violatedTools: string[];
  violatedSequences: string[][];
}

/** Finds forbidden steps, and forbidden sequences of consecutive steps. */
export function checkTrajectoryBlacklist(
  { steps }: Trajectory,
  { blacklistedTools = [], blacklistedSequences = [] }: BlacklistOptions = {},
): TrajectoryBlacklist {
  const names = steps.map(({ name }) => name);
  const violatedTools = blacklistedTools.filter((name) => names.includes(name));
  const violatedSequences = blacklistedSequences
    .filter((sequence) => sequence.length > 0 && holds(names, sequence))
    .map((sequence) => [...sequence]);
  const isClean = violatedTools.length === 0 && violatedSequences.length === 0;
  return { score: isClean ? 1 : 0, violatedTools, violatedSequences };
}

function holds(names: readonly string[], sequence: readonly string[]): boolean {
  return names.some((_name, from) => sequence.every((name, offset) => names[from + offset] === name));
}
