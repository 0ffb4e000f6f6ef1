import { TEXT } from './json-schema.ts';
import type { ReasonMode } from './reason-step.ts';
import type { ReplyFields } from './reply-reader.ts';

/** Fields of a reply in which a judge explains its finding. */
export interface WhyFields {
  readonly isWanted: boolean;
  /** Returns the schemas of the fields, to add to the schema of the verdict; empty when no explanation is needed. */
  ask(...names: string[]): Record<string, object>;
  /** Reads the text of a field; '' when it was not asked for and is absent. */
  read(found: ReplyFields, name: string): string;
  /** Returns the words of the instructions about these fields, or ''. */
  tell(words: string): string;
}

/**
 * Creates the fields of a mode. Reasons are asked for when an explanation is built from them; without an explanation only the
 * counted fields are asked for, which costs less.
 */
export function whyFields(reason: ReasonMode): WhyFields {
  return reason === false
    ? {
        isWanted: false,
        ask: () => ({}),
        read: (found, name) => found.textIfAny(name) ?? '',
        tell: () => '',
      }
    : {
        isWanted: true,
        ask: (...names) => Object.fromEntries(names.map((name) => [name, TEXT])),
        read: (found, name) => found.text(name),
        tell: (words) => words,
      };
}
