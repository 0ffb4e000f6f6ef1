import type { SpanRole } from '../normalised-span.ts';

/** Most names of which a fact is remembered; keys of spans repeat. */
const MAX_KNOWN = 5_000;

export function remembered<Found>(find: (name: string) => Found): (name: string) => Found {
  const known = new Map<string, { readonly found: Found }>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) {
      return before.found;
    }
    const found = find(name);
    if (known.size < MAX_KNOWN && name.length < 200) {
      known.set(name, { found });
    }
    return found;
  };
}

/** Splits a name into words: `zed.inputMessages` is `zed`, `input`, `messages`. */
export const wordsOf = remembered((name): readonly string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== ''),
);

/** Fact that a name stands for, in the words of a mapping. `in` and `out` become input or arguments, output or result. */
export type ShapeField =
  | 'in'
  | 'out'
  | 'system'
  | 'calls'
  | 'name'
  | 'tool.name'
  | 'tool.arguments'
  | 'tool.result'
  | 'tool.callId'
  | 'documents'
  | 'agent'
  | 'agentVersion'
  | 'session'
  | 'user'
  | 'model'
  | 'provider'
  | 'error'
  | 'usage.input'
  | 'usage.output'
  | 'usage.total'
  | 'usage.cached'
  | 'usage.reasoning';

/** Words at the end of a name that say nothing of what the value is. */
const NEUTRAL = new Set(
  'content contents text value body payload data json raw str string message messages full attributes object'.split(
    ' ',
  ),
);

/** Names of facts by their last words, first match first. */
const NAMES: readonly (readonly [ending: RegExp, field: ShapeField])[] = [
  [/ (tool |function )?(call|use|invocation) id$/, 'tool.callId'],
  [/ (tool|function) (calls|uses|requests|invocations)$/, 'calls'],
  [/ (tool|function|fn|action|skill|plugin|capability)( call)?( name)?$/, 'tool.name'],
  [/ (arguments?|args|params?|parameters?|kwargs)$/, 'tool.arguments'],
  [/ (tool|function|fn|action|call) (inputs?|request|payload|query)$/, 'tool.arguments'],
  [/ (tool|function|fn|action|call) (outputs?|results?|response|returned|answer)$/, 'tool.result'],
  [/ (returns?|returned|return value|observation)$/, 'tool.result'],
  [/ (documents?|docs?|hits|chunks|passages|snippets|matches|retrieved|contexts?|sources)$/, 'documents'],
  [/ (error|error message|exception message|failure( reason| message)?)$/, 'error'],
  [/ (model|llm|engine|deployment)( name| id| slug)?$/, 'model'],
  [/ (provider|vendor)( name)?$/, 'provider'],
  [/^( \w+)? name$/, 'name'],
  [/ agent version$/, 'agentVersion'],
  [/ (agent|assistant|bot|persona|crew)( name)?$/, 'agent'],
  [/ (session|thread|conversation|chat|dialog|dialogue)( id| key| uuid)?$/, 'session'],
  [/ (user|customer|enduser)( id| key| uuid)?$/, 'user'],
  [/ (system|developer|preamble|(system )?(prompt )?instructions?|system prompt)$/, 'system'],
];

const INPUTS =
  / (in|inputs?|prompts?|questions?|query|request|user|human|asked|ask|task|utterance|goal|conversation|history|transcript|turns|chat|dialog|dialogue|thread)$/;
const OUTPUTS =
  / (out|outputs?|completions?|answer|response|reply|replies|results?|generations?|generated|assistant|ai|bot|final|choices?|candidates|said)$/;

/** Names whose value is the whole conversation. */
const CONVERSATION = /(conversation|history|transcript|turns|thread|chat|dialog|dialogue|messages)$/;

const NO_COUNT = / (max|limit|budget|price|cost|usd|rate|per|available|remaining)\b/;

/** A possible meaning of a name; of several values for one fact, the most certain one is taken. */
export interface Meaning {
  readonly field: ShapeField;
  readonly certainty: number;
}

/** Meanings of the names whose words are remembered. */
const meanings = new WeakMap<readonly string[], readonly Meaning[]>();

/** Lists what a name may mean; the value decides. */
export function meaningsOf(words: readonly string[]): readonly Meaning[] {
  const found = meanings.get(words) ?? findMeanings(words);
  meanings.set(words, found);
  return found;
}

function findMeanings(words: readonly string[]): Meaning[] {
  const full = ` ${words.join(' ')}`;
  const count = countField(full);
  if (count !== undefined) {
    return [{ field: count, certainty: 1 }];
  }
  const found: Meaning[] = [];
  const stripped = withoutNeutral(words);
  const ending = ` ${stripped.join(' ')}`;
  const named = NAMES.find(([pattern]) => pattern.test(full) || pattern.test(ending));
  if (named !== undefined) {
    found.push({ field: named[1], certainty: / response model/.test(full) ? 4 : 3 });
  }
  const certainty = / (user|final|human)\b/.test(ending) ? 3 : CONVERSATION.test(ending) ? 1 : 2;
  if (named?.[1] === 'system') {
    return found;
  }
  if (OUTPUTS.test(ending) && !ending.endsWith(' tool choice')) {
    found.push({ field: 'out', certainty });
  } else if (INPUTS.test(ending) || (stripped.length < words.length && /messages?$/.test(full))) {
    found.push({ field: 'in', certainty });
  }
  return found;
}

function withoutNeutral(words: readonly string[]): readonly string[] {
  let end = words.length;
  while (end > 1 && NEUTRAL.has(words[end - 1] ?? '')) {
    end--;
  }
  return words.slice(0, end);
}

function countField(full: string): ShapeField | undefined {
  if (!/ (tokens?|usage|tok)\b/.test(full) || NO_COUNT.test(full)) {
    return undefined;
  }
  if (/ cach/.test(full)) {
    return / (write|creat)/.test(full) ? undefined : 'usage.cached';
  }
  if (/ (reason|think|thought)/.test(full)) {
    return 'usage.reasoning';
  }
  const last = full.replace(/ (tokens?|usage|count|tok)\b/g, '');
  return / (out|outputs?|completion|response|generated|received)$/.test(last)
    ? 'usage.output'
    : / (in|inputs?|prompts?|request|sent)$/.test(last)
      ? 'usage.input'
      : / total/.test(full)
        ? 'usage.total'
        : undefined;
}

/** Longest value that says what a span is. */
const MAX_KIND = 100;

const KIND_KEY =
  /^(?!.* (sender|recipient|mime|media|content|output|response|finish|error) ).* (type|kind|category|operation|operation name|op|step|stage|component)$/;

/** Kinds by the words of a value or of a span's name, first match first. */
const KINDS: readonly (readonly [words: RegExp, role: SpanRole])[] = [
  [/ (embed\w*) /, 'embedding'],
  [/ (tool|tools|function|fn|mcp|plugin|skill) /, 'tool'],
  [/ (retriev\w*|search|rag|vector|rerank\w*|knowledge|lookup) /, 'retriever'],
  [/ (llm|model|completions?|generat\w*|inference|reasoning|chat) /, 'llm'],
  [/ (agent|agents|assistant|bot|agentic) /, 'agent'],
  [
    / (workflow|chain|graph|pipeline|flow|crew|turn|conversation|session|task|orchestrat\w*|run) /,
    'container',
  ],
];

/** First words of what only prepares an agent. */
const SETUP =
  /^ (create|register|load|init\w*|setup|configure|build|list) (agents?|assistants?|bots?|models?|workflows?|graph|chain|crew|tools?) /;

export const kindIn = remembered((text): SpanRole | undefined => {
  const words = ` ${wordsOf(text).join(' ')} `;
  return SETUP.test(words) ? undefined : KINDS.find(([pattern]) => pattern.test(words))?.[1];
});

export function isKindKey(words: readonly string[]): boolean {
  return KIND_KEY.test(` ${words.join(' ')}`);
}

/** Finds the kind that a key and its value tell; undefined for a key of something else. */
export function toldKind(words: readonly string[], value: string): SpanRole | undefined {
  return value.length <= MAX_KIND && isKindKey(words) ? kindIn(value) : undefined;
}
