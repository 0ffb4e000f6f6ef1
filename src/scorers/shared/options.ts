import { nearest } from '../../domain/nearest.ts';
import { ScorerError } from '../evals/scorer-error.ts';
import { SEEN_KINDS, type SeenKind } from '../../domain/score.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** Check of one option: a test and its words. */
export interface OptionRule {
  readonly fits: (value: unknown) => boolean;
  /** Words for "it must be …". */
  readonly is: string;
  /** Rules of the members, for an option that is an object. */
  readonly members?: OptionRules;
  /** Members that are taken and change nothing. */
  readonly ignoredMembers?: readonly string[];
}

export interface OptionRules {
  readonly [name: string]: OptionRule;
}

/** Options of a scorer without options. */
export type NoOptions = Readonly<Record<string, never>>;

export const isBoolean = { fits: (value: unknown) => typeof value === 'boolean', is: 'true or false' };
export const isText = { fits: (value: unknown) => typeof value === 'string', is: 'a text' };
export const isFilledText = {
  fits: (value: unknown) => typeof value === 'string' && value.trim() !== '',
  is: 'a text that is not empty',
};
export const isCount = {
  fits: (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 1,
  is: 'a whole number of 1 or more',
};
export const isOptionObject = {
  fits: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  is: 'an object',
};
const REASON_MODES: ReadonlySet<unknown> = new Set(['judge', 'template', false]);

export const isReasonMode = {
  fits: (value: unknown) => REASON_MODES.has(value),
  is: '"judge", "template" or false',
};
export const isFunction = { fits: (value: unknown) => typeof value === 'function', is: 'a function' };
export const isTextList = {
  fits: (value: unknown) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
  is: 'a list of texts',
};
export const isPositiveNumber = {
  fits: (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value > 0,
  is: 'a number above 0',
};
export const isShare = {
  fits: (value: unknown) => typeof value === 'number' && value >= 0 && value <= 1,
  is: 'a number from 0 to 1',
};
export const isAmount = {
  fits: (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  is: 'a number of 0 or more',
};

/** Fault of one option: `options.<option>` and these words make a sentence. */
interface OptionFault {
  readonly option: string;
  readonly fault: string;
}

/**
 * Finds the first option that the rules do not know or whose value is of another kind, members of options last. Names that
 * are `ignored` pass. An option that is undefined is one that was not given.
 */
export function findOptionFault(
  options: object,
  rules: OptionRules,
  ignored: readonly string[] = [],
): OptionFault | undefined {
  const given = Object.entries(options).filter(([name]) => !ignored.includes(name));
  for (const [option, value] of given) {
    const rule = Object.hasOwn(rules, option) ? rules[option] : undefined;
    if (rule === undefined) {
      return { option, fault: unknownName(option, Object.keys(rules)) };
    }
    if (value !== undefined && !rule.fits(value)) {
      return { option, fault: `is ${shown(value)}; it must be ${rule.is}` };
    }
  }
  for (const [option, value] of given) {
    const { members, ignoredMembers } = rules[option] ?? {};
    const fault =
      members === undefined ? undefined : findOptionFault((value ?? {}) as object, members, ignoredMembers);
    if (fault !== undefined) {
      return fault;
    }
  }
  return undefined;
}

/** Refuses options that break their rules, at creation: options come from configuration files too. */
export function checkOptions(scorerId: string, options: object, rules: OptionRules): void {
  const found = findOptionFault(options, rules);
  if (found !== undefined) {
    throw refused(scorerId, found.option, found.fault);
  }
}

/** Refuses, when a scorer is created, that one of these options is missing. */
export function checkGiven(scorerId: string, options: object, names: readonly string[]): void {
  const missing = names.find((name) => (options as Record<string, unknown>)[name] === undefined);
  if (missing !== undefined) {
    throw refused(scorerId, missing, 'is missing');
  }
}

function unknownName(name: string, known: readonly string[]): string {
  if (known.length === 0) {
    return 'is unknown; this scorer takes no options';
  }
  const meant = nearest(name, known);
  const hint = meant === undefined ? '' : `did you mean ${meant}? `;
  return `is unknown; ${hint}Options of this scorer: ${known.join(', ')}`;
}

function refused(scorerId: string, option: string, fault: string): ScorerError {
  return new ScorerError(`Scorer "${scorerId}": options.${option} ${fault}`, {
    id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
    details: { scorerId, option },
  });
}

function shown(value: unknown): string {
  return typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value);
}

export const scaleOption = { ...isPositiveNumber, means: 'the highest score, above 0 (1)' };

/** Source of the explanation, where the judge is asked by default. */
export const reasonOption = {
  ...isReasonMode,
  means:
    '`judge` (a further question, the default), `template` (a sentence made of the verdicts) or `false` (none, and verdicts without reasons)',
};

/** Source of the explanation, where the verdict says enough. */
export const ownReasonOption = {
  ...isReasonMode,
  means:
    '`template` (a sentence made of the verdict, the default), `judge` or `false` (none, and verdicts without reasons)',
};

/** The evidence that an answer is held against. */
export const evidenceOption = {
  ...isTextList,
  means: 'the evidence, the same for every run; else `run.context`, else all that the agent could know',
};

/** The pieces of context of one run. */
export const extractorOption = {
  ...isFunction,
  means: '`(input, output, run) => texts`, the pieces of one run; `contextFromRun` takes what the run holds',
};

/** Kinds of evidence that a judge sees, and the bound of earlier turns. */
export const SIGHT_OPTIONS = {
  sees: {
    fits: (value: unknown) =>
      Array.isArray(value) && value.every((kind) => SEEN_KINDS.includes(kind as SeenKind)),
    is: `a list out of ${SEEN_KINDS.join(', ')}`,
    means: `what the judge sees of the run beside question and answer, out of ${SEEN_KINDS.map((kind) => `\`${kind}\``).join(', ')} (all)`,
  },
  earlierChars: { ...isCount, means: 'most characters of earlier turns (8,000, about 2,000 tokens)' },
};

/** Options of scorers that look at pieces of context. */
export const PIECES_OPTIONS = {
  context: {
    ...isTextList,
    means:
      "the pieces, best first, the same for every run; this or `contextExtractor` is needed (in rules: the run's own)",
  },
  contextExtractor: extractorOption,
  ...SIGHT_OPTIONS,
};

/** Says so where a list of context is given and has nothing in it. */
export function findEmptyContext({ context }: { readonly context?: unknown }): string | undefined {
  return Array.isArray(context) && context.length === 0 ? 'was given an empty options.context' : undefined;
}

const ORDERINGS: ReadonlySet<unknown> = new Set(['strict', 'relaxed', 'unordered']);

const isStep = (value: unknown): boolean => isObject(value) && typeof value['name'] === 'string';
const isNumber = { fits: (value: unknown) => typeof value === 'number', is: 'a number' };

const isStepList = {
  fits: (value: unknown) => Array.isArray(value) && value.every(isStep),
  is: 'a list of steps, each with a name',
};

/** Steps to be taken, as a list or as `{ steps }`. */
export const isExpectedSteps = {
  fits: (value: unknown) => isStepList.fits(isObject(value) && 'steps' in value ? value['steps'] : value),
  is: 'a list of steps, each with a name, or { steps: […] }',
};

/** Options of older comparisons that have no effect: `ordering` decides, and fields are compared when they are given. */
export const FORMER_OPTIONS: readonly string[] = ['strictOrder', 'compareStepData'];

/** Options that compare the steps with the expected steps. */
export const COMPARISON_RULES: OptionRules = {
  ordering: { fits: (value) => ORDERINGS.has(value), is: '"strict", "relaxed" or "unordered"' },
  allowRepeatedSteps: isBoolean,
};

/** Options of an expected trajectory. An invalid budget fails the run, like one in the expectation of a run. */
export const EXPECTATION_RULES: OptionRules = {
  steps: isStepList,
  ...COMPARISON_RULES,
  maxSteps: isNumber,
  maxTotalTokens: isNumber,
  maxTotalDurationMs: isNumber,
  noRedundantCalls: isBoolean,
  blacklistedTools: isTextList,
  blacklistedSequences: {
    fits: (value) => Array.isArray(value) && value.every(isTextList.fits),
    is: 'a list of lists of names',
  },
  maxRetriesPerTool: isNumber,
};

export const CLAIM_OPTIONS = {
  scale: scaleOption,
  context: evidenceOption,
  getContext: {
    ...isFunction,
    means: '`({ run, results, step }) => texts`, the evidence of one run; wins over `context`',
  },
  ...SIGHT_OPTIONS,
  reason: reasonOption,
};

/** A point of a rubric. */
export interface RubricCriterion {
  readonly description: string;
  /** True when the score depends on this point. Default true. */
  readonly required?: boolean;
}

/** A rubric: a list of points, or a text with one point per line. */
export type Rubric = string | readonly RubricCriterion[];

/** True for a value that can be read as a rubric. */
export function isRubric(value: unknown): value is Rubric {
  return (
    typeof value === 'string' ||
    (Array.isArray(value) &&
      value.every(
        (point) =>
          isObject(point) &&
          typeof point['description'] === 'string' &&
          (point['required'] === undefined || typeof point['required'] === 'boolean'),
      ))
  );
}
