import { z } from 'zod';
import { InvalidInputError } from '../errors.ts';
import {
  BUILT_IN_CONVENTIONS,
  type ConventionTable,
  parseSource,
  TABLE_FIELDS,
  TABLE_KINDS,
  type TableField,
} from './convention-table.ts';

const source = z
  .string()
  .superRefine((text, context) => {
    const parsed = parseSource(text);
    if (typeof parsed === 'string') {
      context.addIssue({ code: 'custom', message: parsed });
    }
  })
  .meta({ examples: ['acme.reply', 'event:acme.done/result', 'acme.hits $.items[*].text'] });

const sources = (field: TableField) =>
  z
    .union([source, z.array(source).min(1, { error: 'needs at least one source' })])
    .describe(`${TABLE_FIELDS[field]} One source, or a list of which the first with a value is taken.`)
    .optional();

const pattern = (description: string) =>
  z
    .string()
    .min(1, { error: 'must not be empty' })
    .describe(description)
    .meta({ examples: ['acme.*'] })
    .optional();

/** True for an object with at least one value. */
function isFilled(value: object): boolean {
  return Object.values(value).some((one) => one !== undefined);
}

/** Schema of a user's own convention. */
const conventionTable = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, {
        error: 'letters, digits, _ . - only, beginning with a letter or digit, at most 100 characters',
      })
      .refine((name) => !BUILT_IN_CONVENTIONS.has(name), {
        error: 'is the name of a convention of spanscore; choose another',
      })
      .describe('Name of the convention, as runs show it.')
      .meta({ examples: ['acme-agents'] }),
    match: z
      .strictObject({
        scope: pattern('Instrumentation scope.'),
        attribute: pattern('Key of an attribute of the span.'),
        service: pattern('service.name of the resource.'),
      })
      .refine(isFilled, { error: 'needs at least one of scope, attribute and service' })
      .describe('Spans of the convention: those that meet any of these patterns. A * stands for any text.'),
    kind: z
      .strictObject({
        from: source.describe('Source of the word that names the kind of the span.'),
        values: z
          .record(z.string(), z.enum(TABLE_KINDS))
          .describe('Kinds by that word. A word that is not listed is other.'),
      })
      .describe('Kind of the span. Absent: found by what the span has.')
      .optional(),
    fields: z
      .strictObject(
        Object.fromEntries(
          Object.keys(TABLE_FIELDS).map((field) => [field, sources(field as TableField)]),
        ) as Record<TableField, ReturnType<typeof sources>>,
      )
      .refine(isFilled, { error: 'needs at least one field' })
      .describe('Sources of each fact.'),
  })
  .describe('A convention of your own: which spans it describes, and where their facts are.');

/** Schema of a user's own conventions; each needs another name. */
export const conventionTables = z.array(conventionTable).superRefine((tables, context) => {
  tables.forEach(({ name }, index) => {
    if (tables.findIndex((table) => table.name === name) < index) {
      const message = `another convention has the name ${name} too; give each a different name`;
      context.addIssue({ code: 'custom', path: [index, 'name'], message });
    }
  });
});

/** Checks tables that a program gives. Throws an `InvalidInputError` that names each fault. */
export function checkTables(tables: unknown): readonly ConventionTable[] {
  const parsed = conventionTables.safeParse(tables);
  if (!parsed.success) {
    throw new InvalidInputError(`conventions: ${z.prettifyError(parsed.error)}`);
  }
  return parsed.data;
}
