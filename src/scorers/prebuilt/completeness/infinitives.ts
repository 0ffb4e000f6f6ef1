import type { Sentence } from './can-match.ts';
import type { QuickMatching, TagFilter } from './compromise.ts';
import type { Rule } from './tagger-rules.ts';

/** The members of the library's view of some words that are used here. */
interface View {
  readonly found: boolean;
  readonly fullPointer: readonly unknown[];
  readonly docs: readonly Sentence[];
  readonly methods: { two: { transform: { verb: { toInfinitive: ToInfinitive } } } };
  readonly model: TagModel;
  has(pattern: string): boolean;
  text(form: string): string;
  out(form: 'array'): string[];
  terms(): View;
  harden(): View;
  firstTerm(): View;
  fullSentence(): View;
  update(pointers: readonly unknown[]): View;
  toView(pointers: readonly unknown[]): View;
  replace(part: View, text: string, keep: object): View;
  remove(part: View): View;
  tag(name: string): View;
  compute(passes: readonly string[]): View;
}
/** Verb phrases. */
export interface Verbs extends View {
  update(pointers: readonly unknown[]): Verbs;
  parse(): readonly { readonly root: View; readonly auxiliary: View }[];
  toInfinitive(): View;
}
type ToInfinitive = (verb: string, model: unknown, tense: string | undefined) => string | undefined;
interface TagModel {
  readonly one: { readonly tagSet: Readonly<Record<string, { readonly parents?: readonly string[] }>> };
}

/** Forms of a verb, from the most specific tag to the least specific. */
const TENSES = ['Infinitive', 'Participle', 'PastTense', 'Gerund', 'PresentTense'] as const;
/** Tags of words that can be part of a topic. */
const TOPIC_TAGS = ['Person', 'Place', 'Address', 'Organization'] as const;
const WORD_PASSES = ['freeze', 'lexicon', 'preTagger', 'postTagger', 'unfreeze'] as const;

/** Remembers for each rule whether it sets a tag of topics. */
const topicRules = new WeakMap<Rule, boolean>();

/** True when a sentence has a word that can be part of a topic. */
export function hasTopic(sentence: Sentence): boolean {
  return sentence.some(({ tags }) => TOPIC_TAGS.some((tag) => tags.has(tag)));
}

/**
 * Puts the verbs of a sentence into the infinitive and returns them. It does the same as the library's `toInfinitive`, without
 * the parts whose result is not used. After each verb the words are tagged again, because the next verb is read by its tags.
 * After the last verb only topics are tagged again, and only if there may be one.
 */
export function putInfinitives(verbs: Verbs, matching: QuickMatching): string[] {
  if (verbs.fullSentence().has('#Negative')) {
    // "do not" or "does not" is decided by more of the sentence than its verbs.
    return verbs.toInfinitive().out('array');
  }
  const pointers = verbs.fullPointer;
  const changed = pointers.map((pointer, at) => {
    const verb = verbs.update([pointer]);
    const [parsed] = verb.parse();
    if (parsed === undefined) {
      return verb.toInfinitive();
    }
    const auxiliary = parsed.auxiliary.terms().harden();
    const { toInfinitive } = verb.methods.two.transform.verb;
    const infinitive = toInfinitive(parsed.root.text('normal'), verb.model, findTense(parsed.root));
    if (infinitive) {
      verb.replace(parsed.root, infinitive, { tags: true }).tag('Verb').firstTerm().tag('Infinitive');
    }
    if (auxiliary.found) {
      verb.remove(auxiliary);
    }
    const tagAgain = () => void verb.fullSentence().compute(WORD_PASSES);
    if (at < pointers.length - 1) {
      tagAgain();
    } else {
      matching.onlyFor(topicFilter(verb.model), tagAgain);
    }
    return verb;
  });
  // Only now: a later verb may have moved an earlier one.
  return verbs.toView(changed.flatMap((verb) => verb.fullPointer)).out('array');
}

function findTense(root: View): string | undefined {
  return TENSES.find((tense) => root.has(`#${tense}`));
}

/** Builds a filter for rules that set a tag of topics, and for sentences that have one. */
function topicFilter({ one: { tagSet } }: TagModel): TagFilter {
  const isTopicTag = (name: string): boolean =>
    TOPIC_TAGS.some((topic) => name === topic || tagSet[name]?.parents?.includes(topic) === true);
  const givesTopic = ({ tag = [] }: Rule): boolean =>
    [tag].flat().some((names) => names.split(' ').some((name) => isTopicTag(name.replace('#', ''))));
  return {
    rule: (rule) => {
      const known = topicRules.get(rule) ?? givesTopic(rule);
      topicRules.set(rule, known);
      return known;
    },
    sentence: hasTopic,
  };
}
