import type { RecordedCase } from './recorded-cases.ts';

type Fields = Record<string, unknown>;

/** Change of a case: fields beside each other, those of `result` one level deeper. */
interface Change {
  readonly fields: Fields;
  readonly result?: Fields;
}

/** Script of the recorded judge, and its case. */
interface Script {
  readonly recorded: RecordedCase;
  readonly first: Fields;
  readonly verdicts: Fields;
  readonly options: Fields;
  readonly result: Fields;
}

const STATEMENTS: Readonly<Record<string, readonly [noun: string, list: string]>> = {
  hallucination: ['claims', 'verdicts'],
  faithfulness: ['claims', 'verdicts'],
  'context-recall': ['claims', 'verdicts'],
  'answer-relevancy': ['statements', 'results'],
  bias: ['opinions', 'results'],
};

const NOT_RECORDED = 'none was recorded';

const RESTATE: Readonly<Record<string, (script: Script) => Change | undefined>> = {
  'answer-similarity': ({ first, verdicts, recorded }) => {
    const units = listEntries(verdicts, 'matches').map((match) => match['groundTruthUnit']);
    const isSame = units.length === readList(first, 'groundTruthUnits').length;
    return isSame ? undefined : withFirstReply(recorded, { ...first, groundTruthUnits: units });
  },
  'context-relevance': (script) => withContext(script, 'evaluations'),
  'context-precision': (script) => withContext(script, 'verdicts'),
  'context-recall': (script) => withMissingVerdicts(script) ?? withStatements(script),
  rubric: withCriteria,
  summarization: withAnswers,
  'tool-call-accuracy-llm': withCalls,
  'trajectory-accuracy-llm': withSteps,
};

/**
 * A recorded case of a judged scorer with as many things to judge as its scripted judge has verdicts on: the script and the
 * run were not always made for each other. The verdicts stay as they are. Undefined where the two agree already, or where
 * nothing can be said of the missing.
 */
export function restatedCase(recorded: RecordedCase): RecordedCase | undefined {
  const result = recorded['result'] as Fields;
  const replies = recorded['replies'] as Record<string, { json?: Fields }[] | undefined>;
  const verdicts = replies['analyze']?.[0]?.json;
  const first = replies['preprocess']?.at(-1);
  if (verdicts === undefined || !('score' in result) || (first !== undefined && first.json === undefined)) {
    return undefined;
  }
  const script: Script = {
    recorded,
    verdicts,
    first: first?.json ?? {},
    options: recorded['options'] as Fields,
    result,
  };
  const change = (RESTATE[String(recorded['scorer'])] ?? withStatements)(script);
  return change && { ...recorded, ...change.fields, result: { ...result, ...change.result } };
}

function withStatements({ recorded, first, verdicts }: Script): Change | undefined {
  const [noun, list] = STATEMENTS[String(recorded['scorer'])] ?? ['', ''];
  const statements = readList(first, noun);
  const count = readList(verdicts, list).length;
  return count === statements.length || count === 0
    ? undefined
    : withFirstReply(recorded, { ...first, [noun]: resized(statements, count) });
}

/** Claims without a verdict count as not held, as recorded. */
function withMissingVerdicts({ recorded, first, verdicts }: Script): Change | undefined {
  const said = readList(verdicts, 'verdicts');
  const claims = readList(first, 'claims');
  if (said.length >= claims.length) {
    return undefined;
  }
  const missing = { verdict: 'no', reason: NOT_RECORDED };
  return withVerdicts(recorded, { verdicts: claims.map((_claim, index) => said[index] ?? missing) });
}

function withVerdicts(recorded: RecordedCase, json: Fields): Change {
  const replies = recorded['replies'] as Fields;
  return {
    fields: { replies: { ...replies, analyze: [{ json }] } },
    result: { analyzeStepResult: json },
  };
}

function withFirstReply(recorded: RecordedCase, json: Fields): Change {
  const replies = recorded['replies'] as { preprocess: Fields[] };
  return {
    fields: { replies: { ...replies, preprocess: [...replies.preprocess.slice(0, -1), { json }] } },
    result: { preprocessStepResult: json },
  };
}

/** Numbers of pieces that there are not become those of the pieces in the same order. */
function withContext({ recorded, verdicts, options }: Script, list: string): Change | undefined {
  const given = options['options'] as Fields;
  const said = listEntries(verdicts, list);
  const count = said.length;
  const context = given['context'];
  if (!Array.isArray(context) || count === 0 || count === context.length) {
    return undefined;
  }
  const asked = { ...options, options: { ...given, context: resized(context, count) } };
  const isNumbered = said.every((entry) => Number(entry['context_index']) < count);
  if (isNumbered) {
    return { fields: { options: asked } };
  }
  const numbered = said.map((entry, index) => ({ ...entry, context_index: index }));
  const { fields, ...change } = withVerdicts(recorded, { ...verdicts, [list]: numbered });
  return { ...change, fields: { ...fields, options: asked } };
}

/** The points that the judge spoke of, as required as it said. */
function withCriteria({ verdicts, options }: Script): Change | undefined {
  const said = listEntries(verdicts, 'criteria');
  const asked = options['criteria'];
  if (asked === undefined) {
    return undefined;
  }
  const criteria =
    typeof asked === 'string'
      ? asked.split('\n').filter(Boolean).slice(0, said.length).join('\n')
      : said.map(({ criterion, required }) => ({ description: criterion, required }));
  return { fields: { options: { ...options, criteria } } };
}

/** Questions beyond those that were asked lose their answers; questions without one count as not answered, as recorded. */
function withAnswers({ recorded, first, verdicts, options }: Script): Change | undefined {
  const { maxQuestions = 10 } = (options['options'] ?? {}) as { maxQuestions?: number };
  const questions = readList(first, 'questions').slice(0, maxQuestions);
  const answers = listEntries(verdicts, 'coverage');
  if (answers.length === questions.length || answers.length === 0) {
    return undefined;
  }
  const coverage = questions.map(
    (question, index) => answers[index] ?? { question, answered: false, reason: NOT_RECORDED },
  );
  return withVerdicts(recorded, { coverage });
}

function withCalls({ recorded, verdicts, result }: Script): Change | undefined {
  const count = readList(verdicts, 'evaluations').length;
  const calls = result['preprocessStepResult'] as Fields;
  if (count === 0 || count === readList(calls, 'actualTools').length) {
    return undefined;
  }
  const output = (recorded['output'] as { content: Fields }[]).map((message) => ({
    ...message,
    content: {
      ...message.content,
      toolInvocations: readList(message.content, 'toolInvocations').slice(0, count),
    },
  }));
  return {
    fields: { output },
    result: {
      preprocessStepResult: {
        ...calls,
        actualTools: readList(calls, 'actualTools').slice(0, count),
        toolCallInfos: readList(calls, 'toolCallInfos').slice(0, count),
      },
    },
  };
}

function withSteps({ recorded, verdicts, result }: Script): Change | undefined {
  const output = recorded['output'] as Fields;
  const count = readList(verdicts, 'stepEvaluations').length;
  if (count === readList(output, 'steps').length) {
    return undefined;
  }
  const shorter = { ...output, steps: readList(output, 'steps').slice(0, count) };
  const read = result['preprocessStepResult'] as { actualTrajectoryFormatted: string };
  return {
    fields: { output: shorter },
    result: {
      preprocessStepResult: {
        ...read,
        actualTrajectory: shorter,
        actualTrajectoryFormatted: read.actualTrajectoryFormatted.split('\n').slice(0, count).join('\n'),
        hasSteps: count > 0,
      },
    },
  };
}

/** The first of a list, and names for what it lacks. */
function resized(list: readonly unknown[], count: number): unknown[] {
  return Array.from({ length: count }, (_, index) => list[index] ?? `number ${index + 1}`);
}

function readList(holder: Fields, name: string): unknown[] {
  return (holder[name] ?? []) as unknown[];
}

function listEntries(holder: Fields, name: string): Fields[] {
  return readList(holder, name) as Fields[];
}
