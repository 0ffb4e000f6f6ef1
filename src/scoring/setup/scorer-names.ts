import { PREBUILT_SCORERS } from '../../components.ts';
import { durationMs, type Config } from '../../configuration.ts';
import { findPassLine, type Scale } from '../../domain/agreement/directed-score.ts';
import { RequestError } from '../../domain/errors.ts';
import { nearest } from '../../domain/nearest.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { LabelStore } from '../../store/tables/labels.ts';
import type { CatchUpTerms } from '../scoring.ts';
import type { PreparedRule, PreparedScorer } from '../select/rule.ts';

/** Returns the scorers that a rule of this configuration can name. */
export function listConfiguredScorers(config: Config): Set<string> {
  return new Set([...PREBUILT_SCORERS.map(({ name }) => name), ...Object.keys(config.scorers)]);
}

/** Finds the entry of a scorer, and the prebuilt scorer that it is or uses; both are undefined for an unknown name. */
export function findScorerEntry(name: string, { scorers }: Pick<Config, 'scorers'>) {
  const entry = Object.hasOwn(scorers, name) ? scorers[name] : undefined;
  const prebuilt =
    entry?.module === undefined
      ? PREBUILT_SCORERS.find((scorer) => scorer.name === (entry?.use ?? name))
      : undefined;
  return { entry, prebuilt };
}

/** Says that a scorer is not known, and which known one has the nearest name. */
export function describeUnknownScorer(name: string, known: ReadonlySet<string>): string {
  const meant = nearest(name, known);
  const hint =
    meant === undefined ? `the scorers are ${[...known].sort().join(', ')}` : `did you mean ${meant}?`;
  return `there is no scorer ${name}; ${hint}`;
}

/** Says that a rule is not known, and which known one has the nearest name. */
export function describeUnknownRule(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  const hint = meant === undefined ? `the rules are ${known.join(', ') || 'none'}` : `did you mean ${meant}?`;
  return `there is no rule ${name}; ${hint}`;
}

/** Finds a rule by its name. Throws a `RequestError` when there is none. */
export function findRule<Rule extends { readonly name: string }>(rules: readonly Rule[], name: string): Rule {
  const found = rules.find((rule) => rule.name === name);
  if (found === undefined) {
    throw new RequestError(
      `rule: ${describeUnknownRule(
        name,
        rules.map((rule) => rule.name),
      )}`,
    );
  }
  return found;
}

/** Reads the scales of score rows by their names, as some tenants have them. A name without a known scale is absent. */
export type ReadScales = (
  names: readonly string[],
  tenants: readonly string[],
) => Promise<ReadonlyMap<string, Scale>>;

/** Scale as a scorer or an entry of the configuration declares it. */
interface Declared {
  readonly range?: readonly [min: number, max: number] | null | undefined;
  readonly higherIsBetter?: boolean | null | undefined;
}

/** Name of the judge of a scorer that is only asked for its scale. */
const NO_JUDGE = 'none/none';

/**
 * Creates the reader of scales: a prebuilt scorer declares its own, an entry of the configuration may declare it for a module, and the
 * stored scores have it for all others.
 */
export function createScaleReader(config: Config, labels: Pick<LabelStore, 'scales'>): ReadScales {
  const configured = new Map<string, Promise<Scale>>();
  const readConfigured = (name: string): Promise<Scale> | null => {
    const { entry, prebuilt } = findScorerEntry(name, config);
    if (entry === undefined && prebuilt === undefined) {
      return null;
    }
    const scale = configured.get(name) ?? readScale(entry, prebuilt);
    configured.set(name, scale);
    return scale;
  };
  return async (names, tenants) => {
    const scales = new Map<string, Scale>();
    for (const name of new Set(names)) {
      const scale = await readConfigured(name);
      if (scale !== null) {
        scales.set(name, scale);
      }
    }
    const lacking = [...new Set(names)].filter((name) => !isWhole(scales.get(name)));
    const stored = lacking.length === 0 ? [] : await labels.scales({ scorers: lacking, tenants });
    for (const [name, scale] of stored) {
      scales.set(name, fillScale(scales.get(name), scale));
    }
    return scales;
  };
}

type Found = ReturnType<typeof findScorerEntry>;

/** Reads the scale of a scorer that is not loaded. One that cannot be created has no scale of its own. */
export async function readScale(entry: Found['entry'], prebuilt: Found['prebuilt']): Promise<Scale> {
  return declareScale(entry, await createUnasked(entry, prebuilt));
}

export interface PassLine {
  /** Directed score from which scores pass. */
  readonly line: number;
  /** True when labels or a bar say it; false for the better half of the range. */
  readonly isDeclared: boolean;
}

/** Creates the search for pass lines. The labels of a module are known where its rules run: `runRules`. */
export function createPassLines(
  config: Config,
  runRules?: readonly PreparedRule[],
): (row: string) => Promise<PassLine> {
  const configured = listConfiguredScorers(config);
  const lines = new Map<string, Promise<PassLine>>();
  const find = async (row: string): Promise<PassLine> => {
    const name = findRowScorer(row, configured) ?? row;
    const { entry, prebuilt } = findScorerEntry(name, config);
    const scorer =
      name === row
        ? (findBound(name, runRules)?.scorer ?? (await createUnasked(entry, prebuilt)))
        : prebuilt?.rowFacts?.[row.startsWith(`${name}/`) ? row.slice(name.length + 1) : row];
    const labels = scorer?.labels ?? [];
    return {
      line: findPassLine(labels, declareScale(entry, scorer), entry?.failBelow),
      isDeclared: labels.length > 0 || entry?.failBelow !== undefined,
    };
  };
  return (row) => {
    const line = lines.get(row) ?? find(row);
    lines.set(row, line);
    return line;
  };
}

/** Creates the search for the directed scores from which scores pass. */
export function createPassLineFinder(
  config: Config,
  runRules?: readonly PreparedRule[],
): (row: string) => Promise<number> {
  const find = createPassLines(config, runRules);
  return async (row) => (await find(row)).line;
}

export function findBound(
  name: string,
  rules: readonly PreparedRule[] | undefined,
): PreparedScorer | undefined {
  return rules?.flatMap(({ scorers }) => scorers).find((scorer) => scorer.name === name);
}

/** Creates a prebuilt scorer that never asks its judge; undefined for one that cannot be created. */
async function createUnasked(entry: Found['entry'], prebuilt: Found['prebuilt']) {
  const made = prebuilt?.create({ judge: NO_JUDGE, options: entry?.options ?? {} });
  return made?.catch(() => undefined);
}

/** Returns the scale that a scorer declares, else that of its entry. */
export function declareScale(entry: Found['entry'], scorer: Declared | undefined): Scale {
  return fillScale(toScale(scorer), toScale(entry));
}

function toScale({ range, higherIsBetter }: Declared = {}): Scale {
  const [scoreMin, scoreMax] = range ?? [null, null];
  return { scoreMin, scoreMax, higherIsBetter: higherIsBetter ?? null };
}

/** Fills what a scale lacks from another one. A range is taken as a whole. */
export function fillScale(scale: Scale = NO_SCALE, other: Scale = NO_SCALE): Scale {
  const { scoreMin, scoreMax } = hasRange(scale) ? scale : other;
  return { scoreMin, scoreMax, higherIsBetter: scale.higherIsBetter ?? other.higherIsBetter };
}

const NO_SCALE: Scale = { scoreMin: null, scoreMax: null, higherIsBetter: null };

function hasRange({ scoreMin, scoreMax }: Scale): boolean {
  return scoreMin !== null && scoreMax !== null;
}

function isWhole(scale: Scale = NO_SCALE): boolean {
  return hasRange(scale) && scale.higherIsBetter !== null;
}

/** Returns the terms of the catch-up: never longer than spans are stored. */
export function configureCatchUp({ scoring, store }: Config): CatchUpTerms {
  const maxAgeMs = Math.min(durationMs(scoring.catchUp), durationMs(store.retention.spans));
  return { maxAgeMs, order: scoring.catchUpOrder };
}
