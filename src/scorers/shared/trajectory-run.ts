import type { TrajectoryComparison } from './trajectories.ts';
import { FORMER_OPTIONS } from './options.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { Verdict } from '../../domain/score.ts';
import type { AgentOutput } from '../../domain/trace/messages.ts';
import {
  extractTrajectory,
  listFields,
  type ExpectedStep,
  type Trajectory,
  type TrajectoryExpectation,
} from '../evals/trajectory.ts';
import type { ScorerRunInput } from '../evals/scorer.ts';
import { nameAfter } from './texts.ts';

/** Fields that every step has. All but the first two describe where or how long, not which step, and are never compared. */
const STEP_FIELDS: ReadonlySet<string> = new Set(['name', 'stepType', 'children', 'durationMs', 'metadata']);

const warned = new Set<string>();

/** Warns about names that have no effect; once for the same names in the life of the process. */
export function warnIgnored(scorerId: string, names: readonly string[]): void {
  const message = `Scorer "${scorerId}" ignores ${[...new Set(names)].join(', ')}: remove what changes no score`;
  if (names.length > 0 && !warned.has(message)) {
    warned.add(message);
    process.emitWarning(message, { type: 'SpanscoreWarning', code: 'SPANSCORE_IGNORED_FIELDS' });
  }
}

/** Lists the options of older comparisons among these options. */
export function formerOptions(options: object): string[] {
  return Object.keys(options).filter((name) => FORMER_OPTIONS.includes(name));
}

/** Lists the fields of expected steps, and of their nested steps, that are not compared. */
export function ignoredStepFields(steps: unknown, path = 'steps'): string[] {
  if (!Array.isArray(steps)) {
    return [];
  }
  return steps.filter(isObject).flatMap((step) => {
    const compared = listFields(step['stepType']);
    const ignored = Object.keys(step).filter(
      (name) => step[name] !== undefined && !STEP_FIELDS.has(name) && !compared.includes(name),
    );
    const { children } = step;
    return [
      ...ignored.map(
        (name) => `${path}[].${name}${step['stepType'] === undefined ? ' (without stepType)' : ''}`,
      ),
      ...(isObject(children) ? listIgnored(children, `${path}[].children.`) : []),
    ];
  });
}

/** Lists the members of an expectation that have no effect. */
export function listIgnored(expectation: object, path = ''): string[] {
  const steps: unknown = (expectation as Record<string, unknown>)['steps'];
  return [
    ...formerOptions(expectation).map((name) => `${path}${name}`),
    ...ignoredStepFields(steps, `${path}steps`),
  ];
}

/** Input of trajectory scorers: the steps, or the messages that contain them. */
export type StepsRunInput = ScorerRunInput<unknown, Trajectory | AgentOutput>;

/** Reads the steps of a run: from its trajectory, or from the messages of an agent. */
export function readTrajectory({ output }: ScorerRunInput): Trajectory {
  if (Array.isArray(output)) {
    return extractTrajectory(output);
  }
  if (!isObject(output) || !Array.isArray(output['steps'])) {
    throw new InvalidInputError('run.output must be a trajectory, { steps: […] }, or messages of an agent');
  }
  return output as unknown as Trajectory;
}

/** Reads the expectation of the data item for its own run; warns about members that have no effect. */
export function readExpectation(
  scorerId: string,
  { expectedTrajectory }: ScorerRunInput,
): TrajectoryExpectation {
  if (!isObject(expectedTrajectory) || Array.isArray(expectedTrajectory)) {
    return {};
  }
  warnIgnored(scorerId, listIgnored(expectedTrajectory));
  return expectedTrajectory;
}

/** Expected steps, written as a list or as `{ steps }`. */
export type ExpectedSteps = readonly ExpectedStep[] | { readonly steps: readonly ExpectedStep[] };

export function listExpectedSteps(expected: ExpectedSteps): readonly ExpectedStep[] {
  return 'steps' in expected ? expected.steps : expected;
}

/** Describes which of the expected steps were taken. */
export function explainSteps(comparison: TrajectoryComparison): string {
  const { matchedSteps, totalExpectedSteps, missingSteps, extraSteps, outOfOrderSteps } = comparison;
  return (
    `Steps: ${matchedSteps} of ${totalExpectedSteps} taken as expected` +
    nameAfter('missing', missingSteps) +
    nameAfter('not expected', extraSteps) +
    nameAfter('out of order', outOfOrderSteps)
  );
}

/**
 * Lists the faults of steps as verdicts. A step that was taken as often as it is expected, but is missing, had other arguments. Steps that
 * are not expected are faults only where the order is strict.
 */
export function listStepFaults(
  { missingSteps, extraSteps, outOfOrderSteps }: TrajectoryComparison,
  {
    taken,
    expected,
    isStrict,
  }: { readonly taken: readonly string[]; readonly expected: readonly string[]; readonly isStrict: boolean },
): Verdict[] {
  const count = (names: readonly string[], name: string) => names.filter((each) => each === name).length;
  const verdictOf = (name: string) =>
    count(taken, name) >= count(expected, name) ? 'wrong arguments' : 'missing';
  return [
    ...missingSteps
      .filter((name) => !outOfOrderSteps.includes(name))
      .map((statement) => ({ statement, verdict: verdictOf(statement) })),
    ...(isStrict ? extraSteps : []).map((statement) => ({ statement, verdict: 'unneeded' })),
    ...outOfOrderSteps.map((statement) => ({ statement, verdict: 'out of order' })),
  ];
}
