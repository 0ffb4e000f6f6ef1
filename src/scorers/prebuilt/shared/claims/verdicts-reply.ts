import type { JsonJudgeSchema } from '../../../../judge/reply/judge-schema.ts';
import { UNCHECKED } from '../evidence/unchecked.ts';
import { INTEGER, arraySchema, objectSchema, enumSchema, TEXT } from '../json-schema.ts';
import { replyReader } from '../reply-reader.ts';
import type { ReplyFields } from '../reply-reader.ts';

/** The judge's finding on one numbered statement. */
export interface StatementVerdict<TVerdict extends string = string> {
  /** Present only when the scorer repeats the statement. */
  statement?: string;
  verdict: TVerdict;
  reason?: string;
  /** Excerpt of the evidence, in the judge's copy. */
  quote?: string;
}

export interface VerdictsReply<TVerdict extends string = string> {
  /** One verdict for each statement, in their order. */
  verdicts: StatementVerdict<TVerdict>[];
}

/** Statements to judge, and the allowed verdicts. */
export interface VerdictsRequest<TVerdict extends string = string> {
  readonly statements: readonly string[];
  readonly allowed: readonly TVerdict[];
  /** Words of the reference that are read, too. */
  readonly also?: readonly TVerdict[];
  /** True when each entry of the reply repeats its statement. */
  readonly repeatStatements: boolean;
  /** The verdicts that become `unchecked`, because evidence was left out. */
  readonly unread?: readonly string[] | undefined;
  /** True when an empty list is a reply, too: nothing was found. */
  readonly mayBeEmpty?: boolean;
}

/** Names of the fields of a reply. */
export interface VerdictsForm {
  /** The list of verdicts. */
  readonly list: 'verdicts' | 'results';
  /** The verdict of an entry. */
  readonly field: 'verdict' | 'result';
  /** True when each verdict has a quote of the evidence. */
  readonly quotes: boolean;
  /** True when each verdict has a reason. Default true. */
  readonly reasons?: boolean;
}

/** A reply whose fields have the names of its form. */
export type FormedReply = Record<string, Record<string, string>[]>;

/**
 * Schema with exactly one verdict out of `allowed` for each statement. Entries are matched by number; a reply without any
 * numbers is read by position when its length is right. Any other reply is malformed.
 */
export function verdictsSchema<TVerdict extends string>(
  request: VerdictsRequest<TVerdict>,
): JsonJudgeSchema<VerdictsReply<TVerdict>> {
  const form: VerdictsForm = { list: 'verdicts', field: 'verdict', quotes: true };
  return formedVerdictsSchema(request, form) as JsonJudgeSchema<object> as JsonJudgeSchema<
    VerdictsReply<TVerdict>
  >;
}

/**
 * Like `verdictsSchema`, with the field names of a form. Members that the judge adds stay in the result of the step, as in the
 * reference.
 */
export function formedVerdictsSchema(
  { statements, allowed, also, repeatStatements, unread, mayBeEmpty }: VerdictsRequest,
  { list, field, quotes, reasons = true }: VerdictsForm,
): JsonJudgeSchema<FormedReply> {
  const why = { ...(quotes ? { quote: TEXT } : {}), ...(reasons ? { reason: TEXT } : {}) };
  const entry = objectSchema({ n: INTEGER, ...why, [field]: enumSchema(allowed) });
  const readEntries = (reply: ReplyFields): ReplyFields[] =>
    mayBeEmpty === true && reply.objects(list).length === 0
      ? []
      : reply.numbered(list, { count: statements.length });
  return {
    jsonSchema: objectSchema({ [list]: arraySchema(entry) }),
    validate: replyReader((reply) => ({
      ...reply.others(list),
      [list]: readEntries(reply).map((found, index) => {
        const verdict = found.word(field, allowed, also);
        return {
          ...found.others('n', 'statement', field, 'reason', 'quote'),
          ...(repeatStatements ? { statement: statements[index] ?? '' } : {}),
          ...(unread?.includes(verdict) === true
            ? { [field]: UNCHECKED }
            : { [field]: verdict, ...textIfAny(found, 'reason'), ...textIfAny(found, 'quote') }),
        };
      }),
    })),
  };
}

function textIfAny<TName extends string>(found: ReplyFields, name: TName): { [name in TName]?: string } {
  const text = found.textIfAny(name);
  return text === undefined ? {} : ({ [name]: text } as { [name in TName]: string });
}
