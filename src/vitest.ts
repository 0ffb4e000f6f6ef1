/** Entry point `spanscore/vitest`: evaluations as tests, and runs that failed before as tests. */
import { dirname } from 'node:path';
import { cwd } from 'node:process';
import { directScore } from './domain/agreement/directed-score.ts';
import { AppError, InvalidInputError } from './domain/errors.ts';
import { canonicalJson } from './domain/identity.ts';
import type { IssueCase, RecordedCall, RecordedRun } from './domain/issue-case.ts';
import { isBelow } from './domain/limits.ts';
import { findRowScorer } from './domain/score-rows.ts';
import type { AgentMessage, MessagePart } from './domain/trace/messages.ts';
import { isObject } from './domain/unknown-values.ts';
import type { ScorerRunInput } from './scorers/evals/scorer.ts';
import { listToolInvocations } from './scorers/evals/trajectory.ts';
import { readRecordedCall } from './scorers/shared/acts.ts';
import { type BehaviourRunInput, createBehaviourScorer } from './scorers/prebuilt/behaviour.ts';
import { readAnswer } from './scorers/shared/messages.ts';
import { createTestMessage, createToolInvocation } from './scorers/shared/test-run.ts';

export * from './scorers/evals/vitest.ts';

/** A case of `spanscore issues tests`: its recorded run, and what a good answer has. */
export type ReplayedCase = Pick<IssueCase, 'id' | 'output'> &
  RecordedRun & { readonly expect: NonNullable<IssueCase['metadata']['expect']> };

/** Question for an agent, with the tools as they answered. */
export interface AgentTask {
  readonly id: string;
  readonly input: string;
  /** Question with the messages before it. */
  readonly messages: RecordedRun['messages'];
  /**
   * Answers a call with the recorded result, and notes the call. Throws the recorded error of a call that failed. Arguments that were not
   * recorded get the result of another call of the tool.
   */
  readonly callTool: (name: string, args?: unknown) => Promise<unknown>;
}

/** Agent under test. It returns the text of its answer, or the output of a Mastra agent. */
export type CaseAgent = (task: AgentTask) => unknown;

/** Error of an answer that is as bad as the recorded one. */
export class CaseFailedError extends AppError {
  override readonly name = 'CaseFailedError';
}

/**
 * Asks an agent the question of a case, and scores its answer by the scorer that found the failure. Throws a `CaseFailedError` for an
 * answer below the expectation. Only a scorer with a judge or of the user's own needs a configuration: the file of SPANSCORE_CONFIG,
 * else the nearest one.
 */
export async function replayCase(given: ReplayedCase, agent: CaseAgent, from = cwd()): Promise<void> {
  const made: RecordedCall[] = [];
  const returned = await agent({
    id: given.id,
    input: given.messages.findLast(({ role }) => role === 'user')?.content ?? '',
    messages: given.messages,
    callTool: createToolReplay(given.calls, made),
  });
  const { scorer, min } = given.expect;
  const { score, reason } = await scoreRun(scorer, buildRun(given, returned, made), from);
  if (isBelow(score, min)) {
    const because = reason === '' ? '' : ` (${reason})`;
    throw new CaseFailedError(
      `case ${given.id}: ${scorer} is ${Number(score.toFixed(3))}${because}; a good answer has ${min} at least`,
      { code: 'scorer_failed', stage: 'judge', retryable: false },
    );
  }
}

function createToolReplay(recorded: readonly RecordedCall[], made: RecordedCall[]): AgentTask['callTool'] {
  const taken = new Set<RecordedCall>();
  return async (toolName, given = {}) => {
    const args = isObject(given) ? given : { value: given };
    const ofTool = recorded.filter((call) => call.toolName === toolName);
    if (ofTool.length === 0) {
      const names = [...new Set(recorded.map((call) => call.toolName))].join(', ') || 'none';
      throw new InvalidInputError(
        `the tool ${toolName} has no recorded call; the tools with one are: ${names}`,
      );
    }
    const same = ofTool.filter((call) => canonicalJson(call.args) === canonicalJson(args));
    const others = ofTool.filter(({ error }) => error === undefined);
    const candidates = same.length === 0 ? others : same;
    const found = candidates.find((call) => !taken.has(call)) ?? candidates.at(-1);
    if (found !== undefined) {
      taken.add(found);
    }
    const { result, error } = found ?? { result: null };
    made.push({ toolName, args, result, ...(error === undefined ? {} : { error }) });
    if (error !== undefined) {
      throw new Error(error);
    }
    return result;
  };
}

/** Builds the run of an answer. The calls of the agent are known from `callTool`, or from the messages that it returns. */
function buildRun(given: ReplayedCase, returned: unknown, made: readonly RecordedCall[]): ScorerRunInput {
  const { documents, tools } = given;
  const messages = readMessages(returned);
  const text = messages === undefined ? readText(returned) : readAnswer({ output: messages });
  const isRecorded = text.trim() === given.output.trim();
  const own = [...made, ...listToolInvocations(messages ?? []).map(readRecordedCall)];
  // An agent that calls no tool and gives the recorded answer plays the recorded run; a scorer of claims needs the evidence in any case.
  const isEvidence = !given.expect.scorer.startsWith('behaviour-');
  const recorded = own.length === 0 && (isRecorded || isEvidence) ? given.calls : [];
  const noted = [...recorded, ...made];
  return {
    input: given.input,
    output:
      messages === undefined
        ? [buildAnswer(text, noted)]
        : [...(noted.length === 0 ? [] : [buildAnswer('', noted)]), ...messages],
    context: own.length === 0 ? given.context : [...own.map(writeEvidence), ...documents.map(readContent)],
    documents,
    ...(tools === undefined ? {} : { tools }),
    runId: given.id,
    scoreSource: 'api',
    targetTraceId: '',
    targetSpanId: '',
    requestContext: {},
    ...(given.isCut && isRecorded ? { finishReason: 'length' } : {}),
  };
}

function readContent({ content }: { readonly content: string }): string {
  return content;
}

function writeEvidence({ toolName, result, error }: RecordedCall): string {
  return error === undefined
    ? typeof result === 'string'
      ? result
      : JSON.stringify(result)
    : `${toolName} failed: ${error}`;
}

/** Reads the messages of an agent's output: of its own, of `scoringData`, or of a list. */
function readMessages(returned: unknown): readonly AgentMessage[] | undefined {
  const scored = isObject(returned) ? returned['scoringData'] : undefined;
  const output = isObject(scored) ? scored['output'] : returned;
  return Array.isArray(output) ? (output as AgentMessage[]) : undefined;
}

function readText(returned: unknown): string {
  const text = isObject(returned) ? returned['text'] : returned;
  if (text !== undefined && text !== null && typeof text !== 'string') {
    throw new InvalidInputError(
      'the agent gave neither a text nor messages: return its answer as a text, or the result of generate() with returnScorerData',
    );
  }
  return text ?? '';
}

function buildAnswer(text: string, calls: readonly RecordedCall[]): AgentMessage {
  const parts = calls.map(({ toolName, args, result, error }, index): MessagePart => {
    const call = { toolCallId: `call-${index}`, toolName, args };
    const toolInvocation = createToolInvocation(
      error === undefined
        ? { ...call, result }
        : { ...call, state: 'output-error', errorText: error, isError: true },
    );
    return { type: 'tool-invocation', toolInvocation };
  });
  return createTestMessage({
    role: 'assistant',
    content: text,
    parts: text === '' ? parts : [...parts, { type: 'text', text }],
  });
}

interface RowScore {
  /** From 0 (worst) to 1 (best). */
  readonly score: number;
  readonly reason: string;
}

async function scoreRun(row: string, run: ScorerRunInput, from: string): Promise<RowScore> {
  if (!row.startsWith('behaviour-')) {
    return scoreConfigured(row, run, from);
  }
  const { scores = [] } = await createBehaviourScorer().run(run as BehaviourRunInput);
  const found = scores.find(({ name }) => name === row);
  if (found === undefined) {
    throw new InvalidInputError(`there is no measure ${row}: export the cases again`);
  }
  const { score, range, higherIsBetter = null, reason = '' } = found;
  const scale = { scoreMin: range?.[0] ?? null, scoreMax: range?.[1] ?? null, higherIsBetter };
  return { score: directScore(score, scale), reason };
}

/** Loads the configuration of the tests with its scorers, once in a process. */
async function loadScorers(from: string) {
  const [{ loadConfig }, { loadScorerKit }, { PREBUILT_SCORERS }, { findConfigFile }, { readEnvironment }] =
    await Promise.all([
      import('./configuration.ts'),
      import('./scoring/setup/scorer-kit.ts'),
      import('./components.ts'),
      import('./config/files/config-file.ts'),
      import('./config/environment.ts'),
    ]);
  const folders = [...listFolders(from), ...listFolders(cwd())];
  const nearest = folders.map((folder) => findConfigFile(folder)).find((path) => path !== undefined);
  const path = readEnvironment('SPANSCORE_CONFIG') ?? nearest;
  const { config } = await loadConfig({ path, scorers: PREBUILT_SCORERS });
  return { config, kit: await loadScorerKit({ ...config, rules: [] }) };
}

/** Lists a folder and the folders that it is in, the nearest first. */
function listFolders(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...listFolders(parent)];
}

const loaded = new Map<string, ReturnType<typeof loadScorers>>();

/** Scores a run by a scorer of the configuration. Throws for one that gives no score. */
async function scoreConfigured(row: string, run: ScorerRunInput, from: string): Promise<RowScore> {
  const loading = loaded.get(from) ?? loadScorers(from);
  loaded.set(from, loading);
  const [{ config, kit }, names, rows, { readResult }, scopes, { createRedactor }] = await Promise.all([
    loading,
    import('./scoring/setup/scorer-names.ts'),
    import('./scoring/record/score-rows.ts'),
    import('./scoring/attempt/attempt-scorer.ts'),
    import('./judge/judge-scope.ts'),
    import('./judge/redaction/redaction.ts'),
  ]);
  const owner = findRowScorer(row, names.listConfiguredScorers(config));
  const rule = await kit.prepareOwnRule('case', owner === undefined ? [] : [owner]);
  const [bound] = rule.scorers;
  if (bound === undefined) {
    throw new InvalidInputError(
      `${row} is no score of a scorer of the configuration: name its file in SPANSCORE_CONFIG`,
    );
  }
  const redactor = createRedactor(config.redaction);
  const { input, output, context, documents, tools } = run;
  const shown = bound.isJudged ? redactor.run({ input, output, context, documents, tools }) : {};
  const scope = { judges: kit.judges, redactor };
  const result = readResult(
    bound,
    await scopes.withJudgeScope(scope, () => bound.scorer.run({ ...run, ...shown })),
  );
  if (result.status !== 'scored') {
    throw new InvalidInputError(
      `${row} gives no score: ${'reason' in result ? result.reason : result.status}`,
    );
  }
  const found = result.values.find(({ name }) => rows.formatScoreName(bound.name, name) === row);
  if (found === undefined) {
    throw new InvalidInputError(`${bound.name} gives no score ${row} to this answer`);
  }
  const { score, range, higherIsBetter, reason } = found;
  const scale = { scoreMin: range?.[0] ?? null, scoreMax: range?.[1] ?? null, higherIsBetter };
  return { score: directScore(score, scale), reason };
}
