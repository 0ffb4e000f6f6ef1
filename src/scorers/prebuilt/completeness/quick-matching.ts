import type nlpType from 'compromise';
import { canMatch, buildGlance } from './can-match.ts';
import type { Glance, Part, Sentence } from './can-match.ts';
import { rulesFor } from './tagger-rules.ts';
import type { Net, Rule } from './tagger-rules.ts';

interface Found {
  readonly ptrs: readonly (readonly unknown[])[];
  readonly byGroup?: object;
}

/** A pattern as it was read, and what it cannot do without. */
interface KnownPattern {
  readonly parts: readonly Part[];
  readonly glance: Glance;
}

/** Methods of the library that are exchanged, and the helpers of the exchange. */
interface MatchMethods {
  cacheDoc: (document: readonly Sentence[]) => ReadonlySet<string>[];
  match: (document: readonly Sentence[], todo: { readonly regs: readonly Part[] }) => Found;
  bulkMatch: (document: readonly Sentence[], net: Net, methods: unknown) => object[];
  parseMatch: (pattern: unknown, options: object | undefined, world: unknown) => readonly Part[];
  killUnicode: (text: string, world: unknown) => string;
}

/** Some words of a document. */
interface View {
  readonly docs: readonly Sentence[];
  readonly fullPointer: readonly unknown[];
  update(pointers: readonly unknown[]): View;
}
type Split = (this: View, pattern: unknown, group?: unknown) => View;
/** Cuts words before, behind and around what matches. */
type SplitMethods = Record<'splitBefore' | 'splitAfter' | 'splitOn', Split>;

/** Quick matching while it is on. */
export interface QuickMatching {
  /** Does work in which rules of the tagger need not be applied unless what this accepts of them and their sentences comes up. */
  onlyFor(accepts: TagFilter, work: () => void): void;
}

/** Filter of the rules and tagged words that matter. */
export interface TagFilter {
  readonly rule: (rule: Rule) => boolean;
  readonly sentence: (sentence: Sentence) => boolean;
}

/** More patterns than the library has; only made-up ones would fill it. */
const MAX_PATTERNS = 5000;
const ASCII = /^[\0-\x7f]*$/;

const patterns = new Map<string, KnownPattern>();
/** Of the copies that were handed out. */
const glances = new WeakMap<readonly Part[], Glance>();

/**
 * Does synchronous work while the library's matching refuses by a glance, finds its rules by an index and reads each pattern
 * once: the same matches in the same order, in a fraction of the time. The library is everybody's, so it gets its own methods
 * back afterwards.
 */
export function withQuickMatching<T>(nlp: typeof nlpType, work: (matching: QuickMatching) => T): T {
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

/** Words without a match stay together as they are. */
function quickSplit(split: Split, read: (pattern: string) => KnownPattern): Split {
  return function splitWhereMatched(pattern, group) {
    return typeof pattern === 'string' && ASCII.test(pattern) && !canMatch(read(pattern).glance, this.docs)
      ? this.update(this.fullPointer)
      : split.call(this, pattern, group);
  };
}

/** Every match of every rule that is wanted, rule by rule in the order of the net. */
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

/** Of its own for each user: they mark the parts that they get. */
function copyParts({ parts, glance }: KnownPattern): readonly Part[] {
  const copy = parts.map((part) => ({ ...part }));
  glances.set(copy, glance);
  return copy;
}
