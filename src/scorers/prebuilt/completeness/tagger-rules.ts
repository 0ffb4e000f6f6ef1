import { canMatch, buildGlance } from './can-match.ts';
import type { Glance, Part, Sentence } from './can-match.ts';

/** A rule of the tagger: a pattern, and the words or tags that a sentence needs before the rule is tried. */
export interface Rule {
  readonly regs: readonly Part[];
  readonly needs: readonly string[];
  readonly wants: readonly string[];
  readonly minWant: number;
  readonly ifNo?: readonly string[];
  readonly minWords: number;
  readonly tag?: string | readonly string[];
}

/** The rules of one pass, by each word and tag that they look for. */
export interface Net {
  readonly hooks: Readonly<Record<string, readonly Rule[]>>;
  readonly always: readonly Rule[];
}

/** A rule with its rank among all rules, for each of its words and tags. */
interface RankedRule {
  readonly rule: Rule;
  readonly glance: Glance;
  readonly ranks: Map<string, number>;
}

/** Rules by words and tags; a sentence must have one of them. */
type NetIndex = ReadonlyMap<string, readonly RankedRule[]>;

/** Weight of a tag compared with a word: a sentence has one of the tags about 20 times as often as one of the words. */
const TAG_WEIGHT = 20;

const NONE: readonly RankedRule[] = [];
const indexes = new WeakMap<Net, NetIndex>();

/**
 * Lists the rules of a net that may match a sentence with these words and tags, in the order in which the net tries them: by
 * the first of their words and tags in the sentence.
 */
export function rulesFor(net: Net, sentence: Sentence, has: ReadonlySet<string>): Rule[] {
  const index = findIndex(net);
  const seen = new Set<RankedRule>();
  const fitting: { rule: Rule; rank: number }[] = [];
  for (const key of has) {
    for (const candidate of index.get(key) ?? NONE) {
      if (!seen.has(candidate) && fits(candidate, sentence, has)) {
        seen.add(candidate);
        fitting.push({ rule: candidate.rule, rank: findRank(candidate.ranks, has) });
      }
    }
  }
  const ordered = fitting.sort((a, b) => a.rank - b.rank).map(({ rule }) => rule);
  return [...ordered, ...net.always.filter(({ minWords }) => sentence.length >= minWords)];
}

/** True when a rule may match. Tests the cheap and rare conditions first. */
function fits({ rule, glance }: RankedRule, sentence: Sentence, has: ReadonlySet<string>): boolean {
  for (const need of rule.needs) {
    if (!has.has(need)) {
      return false;
    }
  }
  return (
    sentence.length >= rule.minWords &&
    canMatch(glance, [sentence]) &&
    rule.ifNo?.some((word) => has.has(word)) !== true &&
    (rule.wants.length === 0 || rule.wants.filter((word) => has.has(word)).length >= rule.minWant)
  );
}

function findRank(ranks: ReadonlyMap<string, number>, has: ReadonlySet<string>): number {
  for (const [key, rank] of ranks) {
    if (has.has(key)) {
      return rank;
    }
  }
  return Number.POSITIVE_INFINITY;
}

function findIndex(net: Net): NetIndex {
  const known = indexes.get(net) ?? buildIndex(net);
  indexes.set(net, known);
  return known;
}

function buildIndex({ hooks }: Net): NetIndex {
  const ranked = new Map<Rule, RankedRule>();
  let rank = 0;
  for (const [key, rules] of Object.entries(hooks)) {
    for (const rule of rules) {
      const entry = ranked.get(rule) ?? { rule, glance: buildGlance(rule.regs), ranks: new Map() };
      entry.ranks.set(key, (rank += 1));
      ranked.set(rule, entry);
    }
  }
  const index = new Map<string, RankedRule[]>();
  for (const entry of ranked.values()) {
    for (const key of listRarest(entry.rule, hooks)) {
      index.set(key, [...(index.get(key) ?? []), entry]);
    }
  }
  return index;
}

/** Lists the rarest condition of a rule: one required word or tag, or several of which one is required. */
function listRarest({ needs, wants }: Rule, hooks: Net['hooks']): readonly string[] {
  const weight = (key: string): number => (hooks[key]?.length ?? 0) * (key.startsWith('#') ? TAG_WEIGHT : 1);
  const choices = [...needs.map((need) => [need]), ...(wants.length === 0 ? [] : [wants])];
  const weights = choices.map((keys) => keys.reduce((sum, key) => sum + weight(key), 0));
  return choices[weights.indexOf(Math.min(...weights))] ?? [];
}
