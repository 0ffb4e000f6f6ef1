import { findPassLine, type Scale } from '../../domain/agreement/directed-score.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { FindPassLine } from '../../labels/read-agreement.ts';
import type { PreparedRule, PreparedScorer } from '../../scoring/select/rule.ts';
import type { LabelStore } from '../../store/contracts/labels/label-store.ts';
import type { Config } from '../config/index.ts';
import { findScorerEntry, listConfiguredScorers } from './scorer-names.ts';

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

/** A scorer that cannot be created has no scale of its own. */
async function readScale(entry: Found['entry'], prebuilt: Found['prebuilt']): Promise<Scale> {
  return declareScale(entry, await createUnasked(entry, prebuilt));
}

/** Creates the search for pass lines. The labels of a module are known where its rules run: `runRules`. */
export function createPassLineFinder(config: Config, runRules?: readonly PreparedRule[]): FindPassLine {
  const configured = listConfiguredScorers(config);
  const lines = new Map<string, Promise<number>>();
  const find = async (row: string): Promise<number> => {
    const name = findRowScorer(row, configured) ?? row;
    const { entry, prebuilt } = findScorerEntry(name, config);
    const scorer =
      name === row
        ? (findBound(name, runRules)?.scorer ?? (await createUnasked(entry, prebuilt)))
        : prebuilt?.rowFacts?.[row.startsWith(`${name}/`) ? row.slice(name.length + 1) : row];
    return findPassLine(scorer?.labels ?? [], declareScale(entry, scorer), entry?.failBelow);
  };
  return (row) => {
    const line = lines.get(row) ?? find(row);
    lines.set(row, line);
    return line;
  };
}

/** Finds a scorer of rules by its name. */
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
