/** A word of a sentence with the data of the tagger. */
export interface Term {
  readonly text: string;
  readonly normal: string;
  readonly machine?: string;
  readonly implicit?: string;
  readonly root?: string;
  readonly alias?: readonly string[];
  readonly chunk?: string;
  readonly tags: ReadonlySet<string>;
}
export type Sentence = readonly Term[];

/** One part of a pattern: it matches one word. */
export interface Part {
  readonly word?: string;
  readonly tag?: string;
  readonly chunk?: string;
  readonly fastOr?: ReadonlySet<string>;
  readonly optional?: boolean;
  readonly negative?: boolean;
  readonly min?: number;
  /** Members with conditions beyond the four above. A part with one of them is treated as if it matched any word. */
  readonly anything?: boolean;
  readonly fuzzy?: boolean;
  readonly id?: unknown;
  readonly use?: unknown;
  readonly pos?: unknown;
  readonly method?: unknown;
  readonly pre?: unknown;
  readonly post?: unknown;
  readonly regex?: unknown;
}

/** Words that a sentence must contain for a pattern to match it. */
export type Glance = readonly Due[];

/** A word that must be present, and one that must directly follow it. */
interface Due {
  readonly is: TermTest;
  readonly next: TermTest | undefined;
}
type TermTest = (term: Term) => boolean;

/** Builds the words that a pattern requires. They are cheap to search, and present wherever the pattern matches. */
export function buildGlance(parts: readonly Part[]): Glance {
  return parts.flatMap((part, at) => {
    const is = isDue(part) ? compileTest(part) : undefined;
    if (is === undefined) {
      return [];
    }
    const next = parts[at + 1];
    // Behind a part that may be missing the library may take two parts at once.
    const isPair = next !== undefined && isDue(next) && parts[at - 1]?.optional !== true;
    return [{ is, next: isPair ? compileTest(next) : undefined }];
  });
}

/** Returns false when a pattern cannot match: a required word is missing, or the pair of it and the next word is missing. */
export function canMatch(glance: Glance, sentences: readonly Sentence[]): boolean {
  for (const due of glance) {
    if (!sentences.some((terms) => hasPlace(terms, due))) {
      return false;
    }
  }
  return true;
}

function isDue({ optional, negative, min }: Part): boolean {
  return optional !== true && negative !== true && min !== 0;
}

function hasPlace(terms: Sentence, { is, next }: Due): boolean {
  for (let at = 0; at < terms.length; at += 1) {
    const term = terms[at];
    if (term !== undefined && is(term) && (next === undefined || isFollowed(terms, at, next))) {
      return true;
    }
  }
  return false;
}

/** True when the next word matches; after the first half of a contraction, the word after the second half may match instead. */
function isFollowed(terms: Sentence, at: number, is: TermTest): boolean {
  const [term, next, afterNext] = [terms[at], terms[at + 1], terms[at + 2]];
  return (
    (next !== undefined && is(next)) ||
    (term?.implicit !== undefined && afterNext !== undefined && is(afterNext))
  );
}

/** Compiles the test of a part; undefined for a part that is treated as if it matched any word. */
function compileTest(part: Part): TermTest | undefined {
  const { word, tag, chunk, fastOr } = part;
  if (asksMore(part)) {
    return undefined;
  }
  if (word !== undefined) {
    return ({ text, normal, machine, alias }) =>
      text === word || normal === word || machine === word || alias?.includes(word) === true;
  }
  if (tag !== undefined) {
    return ({ tags }) => tags.has(tag);
  }
  if (chunk !== undefined) {
    return (term) => term.chunk === chunk;
  }
  return fastOr === undefined
    ? undefined
    : ({ text, normal, machine, implicit, root }) =>
        fastOr.has(root || implicit || machine || normal) || fastOr.has(text);
}

function asksMore(part: Part): boolean {
  return (
    part.anything === true ||
    part.fuzzy === true ||
    part.id !== undefined ||
    part.use !== undefined ||
    part.pos !== undefined ||
    part.method !== undefined ||
    part.pre !== undefined ||
    part.post !== undefined ||
    part.regex !== undefined
  );
}
