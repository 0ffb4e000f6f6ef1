import { cutText } from '../../domain/cut-text.ts';
import { isObject, textOrJson } from '../../domain/unknown-values.ts';
import { type ScorerRunInput, notScorable, type RunnableScorer } from '../evals/scorer.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { allBegin, formatPart } from '../../domain/plural.ts';
import { SEEN_KINDS, type SeenKind } from '../../domain/score.ts';
import { createScorer } from '../evals/create-scorer.ts';
import { mergeToolInvocations } from '../evals/trajectory.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { roundToTwoDecimals, nameFindings } from '../shared/texts.ts';
import { extractToolCalls, type ToolCallInfo } from '../shared/trajectories.ts';
import { showConversation, type Sight } from '../shared/run-evidence.ts';
import { readAnswer, type AgentRunInput } from '../shared/messages.ts';
import {
  byNumber,
  buildFinding,
  fence,
  withReason,
  type ReasonMode,
  whyFields,
  type WhyFields,
  judgeAfterData,
} from '../shared/judged.ts';
import { ifGiven, member, replyForm, unasked } from '../shared/reply-form.ts';
import { checkOptions } from '../shared/options.ts';
import { AVAILABLE_TOOLS_OPTION, TOOL_CALL_OPTIONS } from './definitions.ts';

/** Most characters of all tools in a question: about 2,000 tokens. */
const MAX_CHARS = 8_000;
/** Longest descriptions in the shorter forms. */
const SHORT_CHARS = 240;
const SHORTEST_CHARS = 60;

/** A tool that was available to the agent. */
export interface AvailableTool {
  readonly id: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters?: unknown;
}

/** Lists the tools that the agent had: the tools of the caller, else the tools of the run. The run's definitions add parameters. */
function listAvailable(
  { tools }: ScorerRunInput,
  given: readonly AvailableTool[] | undefined,
): readonly AvailableTool[] {
  const offered = (Array.isArray(tools) ? (tools as unknown[]) : []).filter(isObject).map(readOffered);
  const known = new Map(offered.map((tool) => [tool.id, tool]));
  return given?.map((tool) => ({ ...known.get(tool.id), ...tool })) ?? offered;
}

function readOffered({ name, description, parameters }: Record<string, unknown>): AvailableTool {
  return {
    id: String(name),
    description: typeof description === 'string' ? description : '',
    ...(parameters === undefined ? {} : { parameters }),
  };
}

/** Shows tools by name, in the fullest form that fits: with parameters, with names of arguments, or with a few words. */
function showTools(tools: readonly AvailableTool[]): Record<string, unknown> {
  const forms = [showWhole, showShort, showShortest].map((form) =>
    Object.fromEntries(tools.map((tool) => [tool.id, form(tool)])),
  );
  const fitting = forms.find((form) => JSON.stringify(form).length <= MAX_CHARS);
  return fitting ?? { names: cutText(tools.map(({ id }) => id).join(', '), MAX_CHARS) };
}

function showWhole({ description, parameters }: AvailableTool): unknown {
  return parameters === undefined ? description : { description, parameters };
}

function showShort({ description, parameters }: AvailableTool): unknown {
  const { properties, required } = isObject(parameters) ? parameters : {};
  const words = cutText(description, SHORT_CHARS);
  return isObject(properties)
    ? { description: words, parameters: Object.keys(properties), required: required ?? [] }
    : words;
}

function showShortest({ description }: AvailableTool): string {
  return cutText(description, SHORTEST_CHARS);
}

/** Raise with every change of the wording below. */
const TOOL_CALL_ACCURACY_PROMPT_VERSION = '9';

const ID = 'llm-tool-call-accuracy-scorer';

/** Most characters of a call's result that the judge sees. */
const RESULT_CHARS = 2_000;
/** Longest call in a finding, in characters. */
const NAMED_CHARS = 200;

interface CallEvaluation {
  toolCalled: string;
  wasAppropriate: boolean;
  reasoning: string;
}

interface ToolCallAccuracyLLMResults {
  preprocessStepResult: { actualTools: string[]; hasToolCalls: boolean; toolCallInfos: ToolCallInfo[] };
  analyzeStepResult: { evaluations: CallEvaluation[]; missingTools?: string[] };
}

/** Scores the share of the calls, made and missing ones, that were made and appropriate, 0 to 1; 1 where none was needed. */
export function createToolCallAccuracyScorerLLM(config: {
  readonly model: JudgeModel;
  /** Tools that the agent had. Default: the tools of the run. */
  readonly availableTools?: readonly AvailableTool[];
  readonly options?: Sight & { readonly reason?: ReasonMode };
}): RunnableScorer<AgentRunInput, ToolCallAccuracyLLMResults> {
  const { model, availableTools, options = {} } = config;
  checkOptions(ID, options, TOOL_CALL_OPTIONS);
  if (availableTools !== undefined) {
    checkOptions(ID, { availableTools }, { availableTools: AVAILABLE_TOOLS_OPTION });
  }
  const { reason = 'judge' } = options;
  const why = whyFields(reason);
  const scored = createScorer({
    id: ID,
    name: 'Tool Call Accuracy (LLM)',
    description: 'Share of the tool calls that were appropriate for what the user asked',
    type: 'agent',
    judge: judgeAfterData(ID, model, toolCallInstructions(why)),
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'inappropriate', below: 1 }, { label: 'appropriate' }],
    version: '1',
    promptVersion: TOOL_CALL_ACCURACY_PROMPT_VERSION,
    options: { ...options, availableTools, reason },
    details: ({ run, results }) => ({
      verdicts: listFindings(run as AgentRunInput, results as ToolCallAccuracyLLMResults),
    }),
  })
    .preprocess(({ run }) => readCalls(run, availableTools))
    .analyze({
      description: 'One evaluation for each tool call',
      outputSchema: ({ results }) => buildForm(results.preprocessStepResult.actualTools, why),
      createPrompt: ({ run, results }) =>
        fence({
          ...showConversation(run, options),
          answer: readAnswer(run),
          availableTools: showTools(listAvailable(run, availableTools)),
          calls: byNumber(
            results.preprocessStepResult.toolCallInfos.map((info) => ({
              tool: info.toolName,
              ...readInvocation(run, info, options.sees),
            })),
          ),
        }),
    })
    .generateScore(({ results }) => computeScore(results.analyzeStepResult));
  return withReason(scored, reason, 1, {
    about: 'It is the share of tool calls, made and missing ones, that were made and appropriate; 1 is best.',
    material: ({ results }) => ({
      findings: results.analyzeStepResult.evaluations,
      missingTools: results.analyzeStepResult.missingTools ?? [],
    }),
    explain: ({ run, results }) => explain(run, results),
  });
}

function readCalls(run: AgentRunInput, availableTools: readonly AvailableTool[] | undefined) {
  const { input, output } = run;
  if (!Array.isArray(input?.inputMessages) || input.inputMessages.length === 0) {
    throw new InvalidInputError('run.input.inputMessages is missing or empty');
  }
  if (!Array.isArray(output) || output.length === 0) {
    throw new InvalidInputError('run.output is missing or empty');
  }
  const { tools: actualTools, toolCallInfos } = extractToolCalls(output);
  return actualTools.length === 0 && listAvailable(run, availableTools).length === 0
    ? notScorable('the run called no tools, and none were available')
    : { actualTools, hasToolCalls: actualTools.length > 0, toolCallInfos };
}

/** Reads arguments and result of a call, as far as they are seen. */
function readInvocation(
  { output }: AgentRunInput,
  { messageIndex, invocationIndex }: ToolCallInfo,
  sees: readonly SeenKind[] = SEEN_KINDS,
): { readonly args?: unknown; readonly result?: string } {
  const { args, result, errorText } = mergeToolInvocations(output[messageIndex])[invocationIndex] ?? {};
  const shown = errorText === undefined ? result : `failed: ${errorText}`;
  return {
    ...(sees.includes('calls') ? { args } : {}),
    ...(shown === undefined || !sees.includes('tool-results')
      ? {}
      : { result: textOrJson(shown).slice(0, RESULT_CHARS) }),
  };
}

function buildForm(
  tools: readonly string[],
  why: WhyFields,
): JsonJudgeSchema<ToolCallAccuracyLLMResults['analyzeStepResult']> {
  const members = {
    toolCalled: unasked(member.textIfAny),
    reasoning: why.text,
    wasAppropriate: member.flag,
  };
  const numbering = { count: tools.length, what: 'call' };
  return replyForm(
    member.object({
      evaluations: member.numbered(numbering, members, (index) => ({ toolCalled: tools[index] ?? '' })),
      missingTools: ifGiven(member.texts),
    }),
  );
}

function computeScore({
  evaluations,
  missingTools = [],
}: ToolCallAccuracyLLMResults['analyzeStepResult']): number {
  if (evaluations.length === 0) {
    return missingTools.length > 0 ? 0 : 1;
  }
  const appropriate = evaluations.filter(({ wasAppropriate }) => wasAppropriate).length;
  return roundToTwoDecimals(appropriate / (evaluations.length + missingTools.length));
}

/** Lists the calls with what they asked for, then the tools that should have been called. */
function listFindings(
  run: AgentRunInput,
  { preprocessStepResult, analyzeStepResult }: ToolCallAccuracyLLMResults,
) {
  const { evaluations, missingTools = [] } = analyzeStepResult;
  const made = evaluations.map(({ toolCalled, wasAppropriate, reasoning }, index) => {
    const info = preprocessStepResult.toolCallInfos[index];
    const { args } = info === undefined ? {} : readInvocation(run, info);
    const call = args === undefined ? toolCalled : `${toolCalled} ${textOrJson(args)}`;
    const verdict = wasAppropriate ? 'appropriate' : 'inappropriate';
    return buildFinding(cutText(call, NAMED_CHARS), verdict, reasoning);
  });
  return [...made, ...missingTools.map((tool) => buildFinding(tool, 'missing', ''))];
}

function explain(run: AgentRunInput, results: ToolCallAccuracyLLMResults): string {
  const { missingTools = [] } = results.analyzeStepResult;
  const missing = missingTools.length === 0 ? '' : ` Missing: ${missingTools.join(', ')}.`;
  const findings = listFindings(run, results).filter(({ verdict }) => verdict !== 'missing');
  if (findings.length === 0) {
    return missing === '' ? 'No tool was called, and none was needed.' : `No tool was called.${missing}`;
  }
  const wrong = findings.filter(({ verdict }) => verdict === 'inappropriate');
  return wrong.length === 0
    ? `${allBegin(findings.length, 'tool call', ['was', 'were'])} appropriate.${missing}`
    : `${formatPart(wrong.length, findings.length, 'tool call')} ${wrong.length === 1 ? 'was' : 'were'} not appropriate: ${nameFindings(wrong)}.${missing}`;
}

/** Question for the evaluations; the material is `{ earlier?, question, answer, availableTools: { id: description, … }, calls: { 1: { tool, args?, result? }, … } }`. */
function toolCallInstructions(why: WhyFields): string {
  return `Judge whether the assistant chose the right tools for the question; earlier is the conversation before.
evaluations has one entry per call, n its number.${why.tell(' reasoning: a few words.')} wasAppropriate is true where a careful assistant would have made this call at this point. It is false for a needless call, a second one for the same thing, and guessed arguments that the user should have been asked for.
missingTools lists the availableTools that should have been called and were not. Where something needed is unknown, asking back is right.`;
}
