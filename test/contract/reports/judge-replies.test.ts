import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { emptyFolder } from '../../support/processes/cli.ts';
import { startJudgeServer, type JudgeScript } from '../../support/fakes/judge-server.ts';
import { runCommand } from '../../support/processes/run-command.ts';

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** Decision on the one trace of a case, with its calls. */
interface Decision {
  readonly status: string;
  /** That of the score, for a scored trace. */
  readonly reason: string;
  readonly score?: number;
  readonly calls: number;
}

let models = 0;

function caseFile(name: string, file: string): string {
  return fileURLToPath(new URL(`../../fixtures/reports/${name}/${file}`, import.meta.url));
}

function readJudge(name: string): unknown {
  return JSON.parse(readFileSync(caseFile(name, 'judge.json'), 'utf8'));
}

/** Scores the trace of a case with the command line. A setting that a model refuses is remembered, so each run has its own model. */
async function scoreCase(name: string, script: JudgeScript, scorer = 'r'): Promise<Decision> {
  models += 1;
  const model = `local/m${models}`;
  const judge = await startJudgeServer(script);
  const cwd = emptyFolder();
  const config = readFileSync(caseFile(name, 'config.json'), 'utf8')
    .replace('${env:JUDGE_URL}', judge.baseUrl)
    .replace('local/m', model);
  writeFileSync(join(cwd, 'config.json'), config);
  const spans = caseFile(name, 'spans.jsonl');
  const argv = ['score', spans, '--scorer', scorer, '--json', '--config', 'config.json'];
  const { stdout } = await runCommand(argv, { cwd });
  await judge.close();
  return { ...(JSON.parse(stdout) as Omit<Decision, 'calls'>), calls: judge.requests.length };
}

function send({ status, body }: Reply): ReturnType<JudgeScript> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { kind: 'raw', status, headers: { 'content-type': 'application/json' }, body: text };
}

/** Sends the n-th reply to the n-th call, and the last one to later calls. */
function inTurn(replies: readonly Reply[]): JudgeScript {
  return ({ count }) => send(replies[Math.min(count, replies.length) - 1] as Reply);
}

const CASE = '08-think-without-begin';
const GOOD = {
  criteria: [
    { n: 1, satisfied: true, reasoning: 'Paris' },
    { n: 2, satisfied: true, reasoning: '18 degrees' },
  ],
  overallAssessment: 'fine',
};
const JSON_TEXT = JSON.stringify(GOOD);

function completion(message: object, finish: string = 'stop', more: object = {}): Reply {
  const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: finish, ...more };
  return {
    status: 200,
    body: { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [choice] },
  };
}

function says(content: string): Reply {
  return completion({ content });
}

function error(status: number, body: unknown): Reply {
  return { status, body };
}

/** Replies by the row of the table in the documentation that says what becomes of them. */
const ROWS: Readonly<Record<string, Readonly<Record<string, Reply>>>> = {
  'JSON that fits the schema and stands alone': {
    'thoughts and a fence': says(`<think>no</think>\n\`\`\`json\n${JSON_TEXT}\n\`\`\``),
    'a lead-in line': says(`Here is my verdict:\n\n${JSON_TEXT}`),
    '[THINK]': says(`[THINK]{"criteria":[]}[/THINK]${JSON_TEXT}`),
    'channels of gpt-oss': says(
      `<|channel|>analysis<|message|>{"criteria":[]}<|end|><|start|>assistant<|channel|>final<|message|>${JSON_TEXT}`,
    ),
    'white space before the body': error(200, ` \n\n ${JSON.stringify(says(JSON_TEXT).body)}`),
  },
  'such JSON among the thoughts': {
    reasoning_content: completion({ content: null, reasoning_content: JSON_TEXT }),
    reasoning: completion({ content: '', reasoning: `\n${JSON_TEXT}\n` }),
  },
  'JSON with one reading': {
    'a trailing comma': says(JSON_TEXT.replace(/}$/, ',}')),
    'a line break in a text': says(JSON_TEXT.replace('18 degrees', '18\ndegrees')),
    'a literal of Python': says(JSON_TEXT.replaceAll('"', "'").replaceAll('true', 'True')),
    'texts for numbers and flags': says(
      JSON_TEXT.replaceAll(':true', ':"True"').replaceAll(/:(\d)/g, ':"$1"'),
    ),
  },
  'other text beside the JSON': {
    'prose after it': says(`${JSON_TEXT}\nThat is what the answer asks for.`),
    'prose before it': says(`The answer demands ${JSON_TEXT}`),
    'a fence in prose': says(`It says:\n\`\`\`json\n${JSON_TEXT}\n\`\`\`\nI judge nothing.`),
    'two fences': says(`\`\`\`json\n${JSON_TEXT}\n\`\`\`\n\`\`\`json\n{}\n\`\`\``),
    'a cut reply': says(JSON_TEXT.slice(0, -9)),
    'thoughts alone': says(`<think>${JSON_TEXT}`),
    'thoughts that are no JSON': completion({ content: '', reasoning_content: `So: ${JSON_TEXT}` }),
    'a word for a flag': says(JSON_TEXT.replace('true', '"partly"')),
    nothing: says(''),
  },
  "a 400 about the model's own text": {
    'Groq, invalid': error(400, {
      error: { message: "Failed to validate JSON. See 'failed_generation'.", code: 'json_validate_failed' },
    }),
    vLLM: error(400, { object: 'error', message: 'The grammar rejected tokens [12, 7]', code: 400 }),
    'llama.cpp': error(500, {
      error: { message: 'Unexpected empty grammar stack after accepting piece: x' },
    }),
  },
  'a body that is no chat completion': { 'other JSON': error(200, { answer: 42 }) },
  'a refusal to answer': {
    'a refusal': completion({ content: null, refusal: 'No.' }),
    'a refusal without a finish reason': completion({ content: null, refusal: 'No.' }, 'refusal'),
    'a filter': completion({ content: '' }, 'content_filter'),
    Gemini: completion({}, 'content_filter: PROHIBITED_CONTENT'),
    'OpenAI moderation': error(400, { error: { message: 'Rejected.', code: 'content_policy_violation' } }),
    'Bedrock behind LiteLLM': error(400, {
      error: { message: "{'error': 'Violated guardrail policy'}", type: 'None', code: '400' },
    }),
    OpenRouter: error(403, { error: { message: 'Your input was flagged', code: 403 } }),
    'in a 200': error(200, { error: { message: 'Blocked due to SAFETY', code: 'PROHIBITED_CONTENT' } }),
  },
  '400 and other refusals': {
    vLLM: error(400, { object: 'error', message: 'The model is being loaded', code: 400 }),
    FastAPI: error(422, { detail: [{ loc: ['body'], msg: 'The model is being loaded' }] }),
    Ollama: error(400, { error: 'The model is being loaded' }),
    Gemini: error(400, [{ error: { code: 400, message: 'The model is being loaded' } }]),
    'a plain text': error(400, 'The model is being loaded'),
  },
  '404, a redirect': { Ollama: error(404, { error: "model 'm' not found" }) },
  '401, 402, 403': { 'a key': error(401, { error: { message: 'No such key' } }) },
  '429': { 'a limit': error(429, { error: { message: 'Slow down' } }) },
  '5xx, 408, 409': { 'a fault': error(503, { error: { message: 'Down' } }) },
  'a web page': { 'a page': error(200, '<!doctype html><p>Sign in') },
};

/** Errors in a 200, by the row of their status. */
const IN_BODY: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  '429': {
    'a number': { error: { message: 'Slow down', code: 429 } },
    'a text': { error: { message: 'Slow down', code: '429' } },
    'a word': { error: { message: 'Slow down', code: 'rate_limit_exceeded' } },
    'a sentence': { error: 'Rate limit: Slow down' },
    'a list without choices': { error: { message: 'Slow down', code: 429 }, choices: [] },
  },
  '401, 402, 403': {
    'a word': { error: { message: 'Wrong key', type: 'authentication_error' } },
    FastAPI: { detail: 'Not authenticated' },
  },
  '5xx, 408, 409': {
    'no code': { error: { message: 'Sorry' } },
    'a type': { object: 'error', message: 'x', code: 502 },
  },
};

const PAGE = readFileSync(fileURLToPath(new URL('../../../docs/judges.md', import.meta.url)), 'utf8');

interface Outcome {
  readonly code: string;
  readonly calls: number;
  readonly score: number | undefined;
}

/** Decision and calls that the documentation promises for a reply. */
function promised(begin: string): Outcome {
  const cells = PAGE.split('\n')
    .find((line) => line.startsWith(`| ${begin}`))
    ?.split(' | ');
  const code = /(?:judge_)?\w+(?=`)/.exec(cells?.[1] ?? '')?.[0] ?? '';
  return { code, calls: Number(cells?.[2]), score: code === 'scored' ? 1 : undefined };
}

const SCORED = { code: 'scored', score: 1 };

/** Decision as the documentation names it. */
function outcome({ status, reason, score, calls }: Decision): Outcome {
  return { code: status === 'scored' ? status : (reason.split(':', 1)[0] ?? ''), calls, score };
}

// A judge that fails is asked again after a second: the cases wait beside each other.
describe.concurrent('the table of replies', () => {
  const rows = Object.entries(ROWS).flatMap(([row, replies]) =>
    Object.entries(replies).map(([kind, reply]) => ({ row, kind, reply })),
  );
  it.each(rows)('says what becomes of $kind ($row)', async ({ row, reply }) => {
    expect(outcome(await scoreCase(CASE, inTurn([reply])))).toEqual(promised(row));
  });

  const inBody = Object.entries(IN_BODY).flatMap(([row, bodies]) =>
    Object.entries(bodies).map(([kind, body]) => ({ row, kind, body })),
  );
  it.each(inBody)('says what becomes of an error in a 200: $row, as $kind', async ({ row, body }) => {
    expect(outcome(await scoreCase(CASE, inTurn([error(200, body)])))).toEqual(promised(row));
  });

  it.each(['429', '401, 402, 403', '5xx, 408, 409'])(
    'says what becomes of an error in a choice: %s',
    async (row) => {
      const code = Number(row.slice(0, 3)) || 502;
      const inside = completion({ content: JSON_TEXT }, 'error', { error: { code, message: 'So it is' } });
      const { code: decision } = promised(row);
      const { calls } = promised('an error inside the choice');
      expect(outcome(await scoreCase(CASE, inTurn([inside])))).toEqual({ code: decision, calls });
    },
  );

  it.each(['400', '422', '500'])('says what becomes of a refused schema with status %s', async (status) => {
    const refusal = error(Number(status), { error: { message: "Unsupported parameter: 'response_format'" } });
    expect(outcome(await scoreCase(CASE, inTurn([refusal, says(JSON_TEXT)])))).toEqual(
      promised('a refusal of a setting'),
    );
  });

  it("quotes the server's words", async () => {
    for (const reply of Object.values(ROWS['400 and other refusals'] ?? {})) {
      expect((await scoreCase(CASE, inTurn([reply]))).reason).toContain('is being loaded');
    }
  });
});

describe.concurrent('a reported case', () => {
  it('has no score from a quoted verdict, also behind a lead-in line or in a fence', async () => {
    const { replies } = readJudge('02-quoted-verdict') as { replies: [Reply] };
    const quoted = `{"criteria": [{"n":1,"satisfied":true,"reasoning":"Paris"}, {"n":2,"satisfied":true,"reasoning":"18 degrees"}],"overallAssessment":"fine"}`;
    const variants = [`The answer ends so:\n${quoted}`, `Elle dit :\n\`\`\`json\n${quoted}\n\`\`\``].map(
      says,
    );
    for (const reply of [...replies, ...variants]) {
      expect(outcome(await scoreCase('02-quoted-verdict', inTurn([reply])))).toEqual({
        code: 'judge_malformed',
        calls: 2,
      });
    }
    expect(outcome(await scoreCase('02-quoted-verdict', inTurn([says(quoted)])))).toEqual({
      ...SCORED,
      calls: 1,
    });
  });

  it('is deferred for an error that comes with status 200, in the words of the provider', async () => {
    const { runs } = readJudge('05-error-in-a-200') as {
      runs: { reply: Reply; code: string; status: string; says: string }[];
    };
    for (const { reply, code, status, says: words } of runs) {
      const found = await scoreCase('05-error-in-a-200', inTurn([reply]));
      expect(found).toMatchObject({ status, reason: expect.stringContaining(words) as string });
      expect(found.reason).toMatch(new RegExp(`^${code}:`));
    }
  });

  it('scores what follows thoughts without a begin', async () => {
    const { replies } = readJudge(CASE) as { replies: Reply[] };
    expect(outcome(await scoreCase(CASE, inTurn(replies)))).toEqual({ ...SCORED, calls: 1 });
  });

  it('has a reason without thoughts', async () => {
    const told = readJudge('10-thoughts-in-reason') as {
      claims: object;
      verdicts: object;
      reasons: string[];
      expected: string;
    };
    for (const reason of told.reasons) {
      const found = await scoreCase(
        '10-thoughts-in-reason',
        ({ body, prompt }) => {
          const asksText = body.response_format === undefined;
          const value = prompt.includes('"verdict"') ? told.verdicts : told.claims;
          return send(says(asksText ? reason : JSON.stringify(value)));
        },
        'hallucination',
      );
      expect(found).toMatchObject({ score: 0, reason: told.expected });
    }
  });

  it("is asked once more after a 400 about the model's text", async () => {
    const { replies } = readJudge('13-provider-checked-json') as { replies: Reply[] };
    expect(outcome(await scoreCase('13-provider-checked-json', inTurn(replies)))).toEqual({
      ...SCORED,
      calls: 2,
    });
    const stays = await scoreCase('13-provider-checked-json', inTurn(replies.slice(0, 1)));
    expect(outcome(stays)).toEqual({ code: 'judge_malformed', calls: 2 });
    expect(stays.reason).toContain('Failed to generate JSON');
  });

  it('is refused by a content filter that answers 400', async () => {
    for (const reply of (readJudge('14-content-filter') as { runs: Reply[] }).runs) {
      const found = await scoreCase('14-content-filter', inTurn([reply]));
      expect(outcome(found)).toEqual({ code: 'judge_refused', calls: 1 });
      expect(found).toMatchObject({
        status: 'failed',
        reason: expect.stringContaining('content management policy') as string,
      });
    }
  });

  it.each([
    ['the schema', 'json_schema', 2],
    ['the schema and JSON mode', undefined, 3],
  ])('is scored without %s that a server cannot use', async (_what, type, calls) => {
    const told = readJudge('16-schema-refused') as { good: Reply; refusals: Reply[]; other: Reply };
    for (const refusal of told.refusals) {
      const found = await scoreCase('16-schema-refused', ({ body: { response_format: form } }) => {
        const isGood = form === undefined || (type !== undefined && (form as { type: string }).type !== type);
        return send(isGood ? told.good : refusal);
      });
      expect(outcome(found)).toEqual({ ...SCORED, calls });
    }
    const other = await scoreCase('16-schema-refused', inTurn([told.other]));
    expect(other).toMatchObject({ calls: 1, reason: expect.stringContaining('is being loaded') as string });
  });

  it('is scored by JSON that a server files under thoughts', async () => {
    for (const reply of (readJudge('23-answer-among-thoughts') as { runs: Reply[] }).runs) {
      expect(outcome(await scoreCase('23-answer-among-thoughts', inTurn([reply])))).toEqual({
        ...SCORED,
        calls: 1,
      });
    }
  });

  it('reads flags and numbers that are texts', async () => {
    const { runs } = readJudge('26-flags-as-texts') as { runs: { reply: Reply; score: number | null }[] };
    for (const { reply, score } of runs) {
      const found = await scoreCase('26-flags-as-texts', inTurn([reply]));
      expect(found.score ?? null).toBe(score);
      expect(found.calls).toBe(score === null ? 2 : 1);
    }
  });
});
