import { TEXT } from './json-schema.ts';
import type { ReasonMode } from './reason-step.ts';
import type { ReplyFields } from './reply-reader.ts';

/** The fields of a reply in which a judge says why it finds what it finds. */
export interface WhyFields {
  readonly isWanted: boolean;
  /** Their schemas, to stand beside those of the verdict: none where nobody would read them. */
  ask(...names: string[]): Record<string, object>;
  /** Reads the text of a field; '' where it was not asked for and is absent. */
  read(found: ReplyFields, name: string): string;
  /** Words of the instructions about them: these, or none. */
  tell(words: string): string;
}

/** Reasons are asked for where an explanation is made of them; without one, only what is counted is, and costs less. */
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
