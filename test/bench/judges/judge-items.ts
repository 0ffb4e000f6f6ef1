import { z } from 'zod';
import { PREBUILT_SCORERS } from '../../../src/components.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import type { ScorerRunInput } from '../../../src/scorers/evals/index.ts';
import type { ScorerDefinition } from '../../../src/scorers/scorer-definition.ts';
import {
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
} from '../../../src/scorers/shared/utils.ts';

/** Columns of an item: one JSON object a line. */
const itemSchema = z.strictObject({
  id: z.string().optional(),
  question: z.string(),
  answer: z.string(),
  label: z.enum(['good', 'bad']),
  context: z.union([z.string(), z.array(z.string())]).default([]),
  scorer: z.union([z.string(), z.array(z.string()).min(1)]).optional(),
  instructions: z.string().optional(),
  earlier: z.array(z.strictObject({ role: z.enum(['user', 'assistant']), content: z.string() })).default([]),
  calls: z
    .array(z.strictObject({ name: z.string(), arguments: z.json().optional(), result: z.json().optional() }))
    .default([]),
  tools: z
    .array(z.strictObject({ name: z.string(), description: z.string(), parameters: z.json().optional() }))
    .optional(),
  options: z.record(z.string(), z.json()).optional(),
});

type Columns = z.output<typeof itemSchema>;

/** A scorer, and the one of its scores that is held against the label. */
export interface MeasuredScore {
  /** As `--scorers` or an item names it. */
  readonly name: string;
  readonly definition: ScorerDefinition;
  /** Name of the score, for a scorer that has several. */
  readonly row: string | undefined;
}

/** An item and one scorer that judges it. */
export interface JudgedItem {
  /** Its id, or its line. */
  readonly id: string;
  readonly measured: MeasuredScore;
  readonly isGood: boolean;
  readonly run: ScorerRunInput;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Scorers of an item that names none, unless `--scorers` chooses. */
const GROUNDED = ['grounding', 'hallucination', 'faithfulness'];

const JUDGED = PREBUILT_SCORERS.filter(({ needsJudge }) => needsJudge);

/** Finds a judged scorer by its name, or by the name of one of its scores. Throws with the list for another name. */
export function findMeasured(name: string, place: string): MeasuredScore {
  const definition = JUDGED.find((scorer) => scorer.name === name || scorer.rows?.includes(name));
  if (definition === undefined) {
    const names = JUDGED.flatMap((scorer) => [scorer.name, ...(scorer.rows ?? [])]).join(', ');
    throw new InvalidInputError(`${place}: "${name}" is no judged scorer; write one of ${names}`);
  }
  const { rows } = definition;
  return { name, definition, row: rows?.includes(name) === true ? name : rows?.[0] };
}

/** Reads items, and pairs each with its scorers. Throws with file and line for the first item that is not as described. */
export function readItems(text: string, file: string, chosen?: readonly string[]): JudgedItem[] {
  const items = text.split('\n').flatMap((line, index) => {
    const place = `${file}:${index + 1}`;
    return line.trim() === '' ? [] : pairItem(readLine(line, place), place, chosen);
  });
  if (items.length === 0) {
    throw new InvalidInputError(
      `${file}: no item ${chosen === undefined ? 'is in the file' : `is for ${chosen.join(', ')}`}; write one JSON object a line`,
    );
  }
  return items;
}

function readLine(line: string, place: string): Columns {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new InvalidInputError(
      `${place}: the line is no JSON (${(error as Error).message}); write one object a line`,
    );
  }
  const read = itemSchema.safeParse(value);
  if (read.success) {
    return read.data;
  }
  const [issue] = read.error.issues;
  const columns = Object.keys(itemSchema.shape).join(', ');
  const path = issue?.path.join('.');
  const fault =
    issue?.code === 'unrecognized_keys'
      ? `unknown ${issue.keys.map((key) => `"${key}"`).join(', ')}${path === '' ? '' : ` in ${path}`}; remove it or rename it`
      : `${path === '' ? 'the item' : path}: ${issue?.message}`;
  throw new InvalidInputError(`${place}: ${fault}. Columns are ${columns}; label is "good" or "bad"`);
}

function pairItem(columns: Columns, place: string, chosen: readonly string[] | undefined): JudgedItem[] {
  const own = columns.scorer === undefined ? undefined : [columns.scorer].flat();
  const known = (own ?? chosen ?? GROUNDED).map((name) => findMeasured(name, place));
  const run = buildItemRun(columns);
  return known
    .filter(({ name }) => chosen === undefined || chosen.includes(name))
    .map((measured) => {
      const { options: described } = measured.definition;
      const tools = columns.tools?.map(({ name, ...tool }) => ({ id: name, ...tool }));
      const options = {
        ...('reason' in described ? { reason: 'template' } : {}),
        ...('availableTools' in described && tools !== undefined ? { availableTools: tools } : {}),
        ...columns.options,
      };
      const fault = measured.definition.findOptionFault(options);
      if (fault !== undefined) {
        throw new InvalidInputError(`${place}: ${fault}; write it into "options" or "tools"`);
      }
      return {
        id: columns.id ?? `line ${place.split(':').at(-1)}`,
        measured,
        isGood: columns.label === 'good',
        run,
        options,
      };
    });
}

/** Builds the run of an item as live scoring sees it: the context is retrieved documents. */
function buildItemRun({ question, answer, context, instructions, earlier, calls }: Columns): ScorerRunInput {
  const documents = [context].flat().map((content) => ({ content }));
  const invocations = calls.map((call, index) =>
    createToolInvocation({
      toolCallId: `${index + 1}`,
      toolName: call.name,
      args: call.arguments ?? {},
      result: call.result,
    }),
  );
  const results = calls.flatMap(({ result }) => (result === undefined ? [] : [result]));
  return {
    ...createAgentTestRun({
      inputMessages: [createTestMessage({ role: 'user', content: question })],
      rememberedMessages: earlier.map((message) => createTestMessage(message)),
      systemMessages: instructions === undefined ? [] : [{ role: 'system', content: instructions }],
      output: [
        createTestMessage({
          role: 'assistant',
          content: answer,
          parts: [
            ...invocations.map((toolInvocation) => ({ type: 'tool-invocation' as const, toolInvocation })),
            { type: 'text', text: answer },
          ],
        }),
      ],
    }),
    context: [
      ...results.map((result) => (typeof result === 'string' ? result : JSON.stringify(result))),
      ...documents.map(({ content }) => content),
    ],
    documents,
  };
}
