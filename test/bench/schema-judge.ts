import type { ScorerRunInput } from '../../src/scorers/evals/index.ts';
import { computeFenceCode, withJudgeScope } from '../../src/judge/judge-scope.ts';
import { JUDGED_CASES } from '../support/builders/judged-cases.ts';

/** One request to a judge, in the parts that its model reads, and its reply. */
export interface JudgeRequest {
  readonly system: string;
  readonly user: string;
  /** JSON of the schema; '' for a question whose answer is a text. */
  readonly schema: string;
  readonly reply: string;
}

/** A judge that answers from the schema of a question, and keeps the requests. */
export interface SchemaJudge {
  /** A language model object of the AI SDK. */
  readonly model: object;
  readonly requests: JudgeRequest[];
}

/** JSON Schema of an answer, as far as it is read here. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface CallOptions {
  readonly prompt: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly text?: string }[];
  }[];
  readonly responseFormat?: { readonly schema?: Schema };
}

const WHY = 'the material says so';
const EXPLANATION = 'Most of what the answer says is backed by the material, and only two details are not.';
const NUMBERS: ReadonlySet<string> = new Set(['n', 'context_index']);

/** Creates a judge that gives one entry for each numbered thing of the material, and one for each sentence of a text. */
export function createSchemaJudge(): SchemaJudge {
  const requests: JudgeRequest[] = [];
  const answer = ({ prompt, responseFormat }: CallOptions): string => {
    const textBy = (role: string): string =>
      prompt.flatMap((message) => (message.role === role ? [readText(message.content)] : [])).join('\n');
    const user = textBy('user');
    const schema = responseFormat?.schema;
    const reply = schema === undefined ? EXPLANATION : answerSchema(schema, user);
    requests.push({
      system: textBy('system'),
      user,
      schema: schema === undefined ? '' : JSON.stringify(schema),
      reply,
    });
    return reply;
  };
  const finishReason = { unified: 'stop', raw: 'stop' };
  return {
    requests,
    model: {
      specificationVersion: 'v3',
      provider: 'schema',
      modelId: 'instant',
      supportedUrls: {},
      doGenerate: async (options: CallOptions) => ({
        content: [{ type: 'text', text: answer(options) }],
        finishReason,
        usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
        response: { modelId: 'instant' },
        warnings: [],
      }),
      doStream: async () => {
        throw new Error('this judge does not stream');
      },
    },
  };
}

/** Returns the requests of scorers about a run, as a judge that answers from the schema gets them. */
export async function requestsOf(
  names: readonly string[],
  run: ScorerRunInput,
  options: object = {},
): Promise<JudgeRequest[]> {
  const judge = createSchemaJudge();
  await withJudgeScope({ fenceCode: () => computeFenceCode('one run') }, async () => {
    for (const name of names) {
      const judged = JUDGED_CASES.find((candidate) => candidate.name === name);
      await judged?.create(judge.model as never, options).run({ ...run });
    }
  });
  return judge.requests;
}

/** Answers a question from the schema of its answer and from its material. */
export function answerSchema(schema: Schema, user: string): string {
  return JSON.stringify(fill(schema, readMaterial(user)));
}

function readText(content: CallOptions['prompt'][number]['content']): string {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

/** Things to judge in the material of a question. */
interface Material {
  /** Numbers of the numbered things. */
  readonly numbers: readonly number[];
  readonly sentences: readonly string[];
}

function readMaterial(user: string): Material {
  const json = user.split('\n').find((line) => line.startsWith('{')) ?? '{}';
  const members = Object.entries(JSON.parse(json) as Record<string, unknown>);
  const numbered = members.flatMap(([, value]) => {
    const keys =
      typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
    return keys.length > 0 && keys.every((key) => /^\d+$/.test(key)) ? [keys.map(Number)] : [];
  });
  const texts = members.flatMap(([, value]) => (typeof value === 'string' ? [value] : []));
  return {
    numbers: numbered.at(-1) ?? [],
    sentences: (texts.at(-1) ?? '').split(/(?<=[.!?])\s+/).filter((text) => text !== ''),
  };
}

function fill(schema: Schema, material: Material, name = ''): unknown {
  if (schema.enum !== undefined) {
    return schema.enum[0];
  }
  const types = new Set([schema.type ?? 'string'].flat());
  if (types.has('object')) {
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).map(([key, member]) => [key, fill(member, material, key)]),
    );
  }
  if (types.has('array')) {
    return fillList(schema.items ?? {}, material, name);
  }
  if (types.has('boolean')) {
    return true;
  }
  return types.has('string') ? WHY : 1;
}

function fillList(items: Schema, material: Material, name: string): unknown[] {
  const key = Object.keys(items.properties ?? {}).find((member) => NUMBERS.has(member));
  if (key !== undefined) {
    return material.numbers.map((number) => ({ ...(fill(items, material) as object), [key]: number }));
  }
  return items.type === 'string' ? [...material.sentences] : [fill(items, material, name)];
}
