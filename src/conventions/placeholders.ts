import type { ContentField, Hidden, NormalPart, SpanFacts } from './normalised-span.ts';

export const CONTENT_FIELDS: readonly ContentField[] = [
  'system',
  'input',
  'output',
  'toolArgs',
  'toolResult',
  'documents',
];

/** Texts that emitters and scrubbers write instead of hidden content; one emitter misspells it. */
const REDACTED =
  /^\s*(<redacted>|__redacted__|\[redacted\]|redacted|readacted|\*{3,}|\[scrubbed due to '[^']*'\])\s*$/i;

/** Texts that an emitter writes while capture is off (Koog). */
const NOT_CAPTURED = /^\s*HIDDEN:(non-)?empty\s*$/i;

/** Longest possible placeholder, in UTF-16 units. */
const MAX_PLACEHOLDER = 100;

function readPlaceholder(value: unknown): Hidden | undefined {
  if (typeof value !== 'string' || value.length > MAX_PLACEHOLDER) {
    return undefined;
  }
  if (REDACTED.test(value)) {
    return 'redacted';
  }
  return NOT_CAPTURED.test(value) ? 'not_captured' : undefined;
}

function readPartValue(part: NormalPart): unknown {
  if (part.type === 'text' || part.type === 'reasoning') {
    return part.text;
  }
  if (part.type === 'tool-call') {
    return part.args;
  }
  return part.type === 'tool-result' ? part.result : part.data;
}

function readContent(facts: SpanFacts): Record<ContentField, readonly unknown[]> {
  return {
    system: facts.system ?? [],
    input: (facts.input ?? []).flatMap((message) => message.parts.map(readPartValue)),
    output: (facts.output ?? []).map(readPartValue),
    toolArgs: [facts.toolArgs],
    toolResult: [facts.toolResult],
    documents: (facts.documents ?? []).map((document) => document.content),
  };
}

/** Facts of one span without placeholders, and the fields that had a placeholder. */
export interface Revealed {
  facts: SpanFacts;
  hidden: ReadonlyMap<ContentField, Hidden>;
}

/** Removes placeholders from content: they are neither question, answer nor evidence. */
export function removePlaceholders(facts: SpanFacts): Revealed {
  const hidden = new Map<ContentField, Hidden>();
  const content = readContent(facts);
  for (const field of CONTENT_FIELDS) {
    const by = content[field].map(readPlaceholder).find((one) => one !== undefined);
    if (by !== undefined) {
      hidden.set(field, by);
    }
  }
  return hidden.size === 0 ? { facts, hidden } : { facts: { ...facts, ...hidePlaceholders(facts) }, hidden };
}

function hidePlaceholders(facts: SpanFacts): SpanFacts {
  return {
    system: facts.system?.filter(isShown),
    input: facts.input?.flatMap((message) => {
      const parts = shownParts(message.parts);
      return parts.length > 0 || message.parts.length === 0 ? [{ ...message, parts }] : [];
    }),
    output: facts.output && shownParts(facts.output),
    toolArgs: isShown(facts.toolArgs) ? facts.toolArgs : undefined,
    toolResult: isShown(facts.toolResult) ? facts.toolResult : undefined,
    documents: facts.documents?.filter((document) => isShown(document.content)),
  };
}

function isShown(value: unknown): boolean {
  return readPlaceholder(value) === undefined;
}

/** Removes hidden parts; a call with hidden arguments stays a call. */
function shownParts(parts: readonly NormalPart[]): NormalPart[] {
  return parts.flatMap((part) => {
    if (isShown(readPartValue(part))) {
      return [part];
    }
    return part.type === 'tool-call' ? [{ ...part, args: undefined }] : [];
  });
}

/** Lists fields with a placeholder that no other convention fills; a field that is partly visible counts as hidden. */
export function listHiddenFields(
  facts: SpanFacts,
  found: readonly Revealed[],
): ReadonlyMap<ContentField, Hidden> | undefined {
  const hidden = new Map<ContentField, Hidden>();
  for (const field of CONTENT_FIELDS) {
    for (const one of found) {
      const by = one.hidden.get(field);
      if (by !== undefined && (!isSaid(facts[field]) || isSaid(one.facts[field]))) {
        hidden.set(field, hidden.get(field) ?? by);
      }
    }
  }
  return hidden.size === 0 ? undefined : hidden;
}

/** False for a missing fact; an empty list of messages counts as missing. */
export function isSaid(value: unknown): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}
