import type compromise from 'compromise';
import { canMatch, buildGlance } from './can-match.ts';
import type { Glance, Part, Sentence } from './can-match.ts';
import { rulesFor } from './tagger-rules.ts';
import type { Net, Rule } from './tagger-rules.ts';

// The only file that imports compromise. `withQuickMatching` exchanges methods inside compromise 14.17.0, which package.json pins
// exactly: other versions may have other methods, or read a text in another way and so change scores. ARCHITECTURE.md,
// "Dependencies", says what to check before another version.

/** The library. */
export type Compromise = typeof compromise;

/** Loads the library at the first text: it is large, and most processes never need it. */
export async function loadCompromise(): Promise<Compromise> {
  const { default: nlp } = await import('compromise');
  return nlp;
}

interface Found {
  readonly ptrs: readonly (readonly unknown[])[];
  readonly byGroup?: object;
}

/** A parsed pattern and the words that it requires. */
interface KnownPattern {
  readonly parts: readonly Part[];
  readonly glance: Glance;
}

/** The library's methods that are replaced here, and their helpers. */
interface MatchMethods {
  cacheDoc: (document: readonly Sentence[]) => ReadonlySet<string>[];
  match: (document: readonly Sentence[], todo: { readonly regs: readonly Part[] }) => Found;
  bulkMatch: (document: readonly Sentence[], net: Net, methods: unknown) => object[];
  parseMatch: (pattern: unknown, options: object | undefined, world: unknown) => readonly Part[];
  killUnicode: (text: string, world: unknown) => string;
}

/** The members of the library's view of some words that are used here. */
interface View {
  readonly docs: readonly Sentence[];
  readonly fullPointer: readonly unknown[];
  update(pointers: readonly unknown[]): View;
}
type Split = (this: View, pattern: unknown, group?: unknown) => View;
/** Methods that split words before, after and around a match. */
type SplitMethods = Record<'splitBefore' | 'splitAfter' | 'splitOn', Split>;

/** Quick matching while it is switched on. */
export interface QuickMatching {
  /** Runs work in which the tagger may skip all rules and sentences that the filter does not accept. */
  onlyFor(accepts: TagFilter, work: () => void): void;
}

/** Filter for the rules and tagged words that matter. */
export interface TagFilter {
  readonly rule: (rule: Rule) => boolean;
  readonly sentence: (sentence: Sentence) => boolean;
}

/** Most parsed patterns that are kept. It is more than the library has; only generated patterns could reach it. */
const MAX_PATTERNS = 5000;
const ASCII = /^[\0-\x7f]*$/;

const patterns = new Map<string, KnownPattern>();
/** Required words of the copied patterns. */
const glances = new WeakMap<readonly Part[], Glance>();

/**
 * Runs synchronous work with faster matching: the library skips patterns whose required words are missing, finds its rules by
 * an index and parses each pattern once. The matches and their order stay the same. The library is shared, so its own methods
 * are restored afterwards.
 */
export function withQuickMatching<T>(nlp: Compromise, work: (matching: QuickMatching) => T): T {
  const { one } = nlp.methods() as unknown as { one: MatchMethods };
  const { bulkMatch, killUnicode, match, parseMatch } = one;
  const views = Object.getPrototypeOf(nlp.tokenize('')) as SplitMethods;
  const { splitBefore, splitAfter, splitOn } = views;
  let filter: TagFilter | undefined;
  const read = (pattern: string): KnownPattern =>
    knownPattern(pattern, () => parseMatch(pattern, {}, nlp.world()));
  one.match = (document, todo) =>
    canMatch(glances.get(todo.regs) ?? [], document) ? match(document, todo) : { ptrs: [], byGroup: {} };
  one.bulkMatch = (document, net) => {
    const apply = createMatcher(document, net, { match, cacheDoc: one.cacheDoc });
    const matters = filter === undefined || document.some(filter.sentence) || apply(filter.rule).length > 0;
    return matters ? apply(() => true) : [];
  };
  one.parseMatch = (pattern, options, world) =>
    typeof pattern === 'string' && Object.keys(options ?? {}).length === 0
      ? copyParts(read(pattern))
      : parseMatch(pattern, options, world);
  one.killUnicode = (text, world) => (ASCII.test(text) ? text : killUnicode(text, world));
  for (const [name, split] of Object.entries({ splitBefore, splitAfter, splitOn })) {
    views[name as keyof SplitMethods] = quickSplit(split, read);
  }
  const onlyFor = (accepts: TagFilter, inner: () => void): void => {
    filter = accepts;
    inner();
    filter = undefined;
  };
  try {
    return work({ onlyFor });
  } finally {
    Object.assign(one, { bulkMatch, killUnicode, match, parseMatch });
    Object.assign(views, { splitBefore, splitAfter, splitOn });
  }
}

/** Returns words without a match unchanged, without the library's split. */
function quickSplit(split: Split, read: (pattern: string) => KnownPattern): Split {
  return function splitWhereMatched(pattern, group) {
    return typeof pattern === 'string' && ASCII.test(pattern) && !canMatch(read(pattern).glance, this.docs)
      ? this.update(this.fullPointer)
      : split.call(this, pattern, group);
  };
}

/** Creates a function that finds every match of every accepted rule, rule by rule in the order of the net. */
function createMatcher(
  document: readonly Sentence[],
  net: Net,
  { match, cacheDoc }: Pick<MatchMethods, 'match' | 'cacheDoc'>,
): (wanted: (rule: Rule) => boolean) => object[] {
  const caches = cacheDoc(document);
  const rules = document.map((sentence, at) => rulesFor(net, sentence, caches[at] ?? new Set()));
  return (wanted) =>
    document.flatMap((sentence, at) =>
      (rules[at] ?? [])
        .filter(wanted)
        .flatMap((rule) =>
          match([sentence], rule).ptrs.map((ptr) => ({ ...rule, pointer: [at, ...ptr.slice(1)] })),
        ),
    );
}

function knownPattern(pattern: string, read: () => readonly Part[]): KnownPattern {
  const known = patterns.get(pattern);
  if (known !== undefined) {
    return known;
  }
  const parts = read();
  const fresh = { parts, glance: buildGlance(parts) };
  if (patterns.size < MAX_PATTERNS) {
    patterns.set(pattern, fresh);
  }
  return fresh;
}

/** Copies the parts for each caller, because callers mark the parts that they get. */
function copyParts({ parts, glance }: KnownPattern): readonly Part[] {
  const copy = parts.map((part) => ({ ...part }));
  glances.set(copy, glance);
  return copy;
}
