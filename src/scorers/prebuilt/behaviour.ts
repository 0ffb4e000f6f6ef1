import {
  chooseRange,
  LEAST_RUNS,
  MEASURES,
  nameMeasure,
  type AgentPast,
  type Measure,
} from '../../domain/behaviour/measures.ts';
import { computeSurprise, writePath, writeTimes } from '../../domain/behaviour/step-path.ts';
import { canonicalJson } from '../../domain/identity.ts';
import type { TokenUsage } from '../../domain/trace/agent-run.ts';
import { ANSWER_TOOLS } from '../../domain/trace/answer-tools.ts';
import { isCutFinish } from '../../domain/trace/halt.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { NamedScore, RunnableScorer } from '../evals/scorer.ts';
import { mergeToolInvocations, type LooseInvocation } from '../evals/trajectory.ts';
import { type AgentRunInput, readAnswer } from '../shared/messages.ts';
import { checkOptions, type NoOptions } from '../shared/options.ts';

/** Part of an answer in which a refusal is looked for, characters: a refusal begins an answer. */
const BEGIN_CHARS = 240;

/** Length from which an answer is no refusal, whatever its begin, characters. */
const MOST_CHARS = 1_500;

/**
 * Forms of a refusal, by language. Each names the act that is refused (help, comply, answer): a tool that finds nothing is no
 * refusal. Texts are compared in lower case, with plain apostrophes.
 */
const FORMS: Readonly<Record<string, readonly RegExp[]>> = {
  english: [
    /\b(?:i|we)(?: am|'m| are|'re)?(?: really| very)?(?: sorry| afraid)?[,;.]?(?: but)?(?: i| we)? ?(?:can't|cannot|can not|won't|will not|couldn't|could not|am not able to|'m not able to|am unable to|'m unable to|are unable to|'re unable to|must decline to|have to decline to) (?:really |directly |legally |ethically )?(?:help(?: (?:you )?with|\.|,|$)|assist\b|comply\b|fulfil+\b|engage (?:in|with)\b|participate in\b|do that\b|answer (?:that|this|your|those|these|such)\b|discuss (?:that|this|those|these|such)\b|support (?:that|this) request|continue with (?:that|this)|provide (?:any |that |this |such |you with )?(?:assistance|help|guidance|instructions|that|this|such)\b)/,
    /\b(?:i|we) (?:must|have to|need to|will have to|respectfully) (?:respectfully )?(?:decline|refuse)\b/,
    /\bi(?:'m| am) not (?:allowed|permitted|comfortable|willing) (?:to (?:help|assist|do|discuss|answer|provide|share)|(?:helping|assisting|doing|discussing|providing))\b/,
    /\b(?:that|this) (?:request )?(?:is|goes) (?:something i (?:can't|cannot|won't)|against my (?:guidelines|policy|policies|programming))\b/,
  ],
  german: [
    /\b(?:ich|wir) (?:kann|können|darf|dürfen|werde|werden) (?:dir|ihnen|euch|da|dabei|hier|damit|bei|leider|hierbei|diese[rsnm]?|auf|so|das|dazu|keine|nicht| )+.{0,60}?\b(?:nicht (?:helfen|weiterhelfen|behilflich|beantworten|erfüllen|unterstützen|nachkommen)|keine (?:hilfe|unterstützung|auskunft|anleitung))/,
    /\bdabei kann ich (?:dir|ihnen|euch)?.{0,20}nicht (?:weiter)?helfen\b/,
  ],
  french: [
    /\bje (?:suis désolée?,? (?:mais )?)?(?:je )?(?:ne (?:peux|puis|pourrai)|refuse|ne suis pas en mesure|ne suis pas autorisée?).{0,25}\b(?:aider|assister|répondre à (?:cette|votre|ta)|fournir (?:cette|ces|ce|d'aide|d'assistance)|satisfaire|accéder à (?:cette|votre|ta))\b/,
  ],
  spanish: [
    /\b(?:no (?:puedo|podemos|me es posible|estoy (?:autorizado|autorizada) (?:a|para))|me niego a) (?:ayudar|asistir|responder a (?:esa|esta|ese|este|tu|su)|proporcionar(?:te|le)? (?:esa|ese|esta|este|ayuda|asistencia)|cumplir|hacer eso)/,
  ],
  portuguese: [
    /\bnão (?:posso|podemos|consigo|estou autorizad[oa] a) (?:te |lhe |o |a )?(?:ajudar|auxiliar|atender (?:a )?(?:ess|est|seu|sua)|responder a (?:ess|est)|fornecer (?:ess|est|ajuda|assistência)|cumprir|fazer isso)/,
  ],
  italian: [
    /\bnon (?:posso|possiamo|sono autorizzat[oa] a|sono in grado di) (?:aiutar|assister|rispondere a (?:quest|tal)|fornire (?:quest|tal|assistenza|aiuto)|soddisfare|farlo\b)/,
  ],
  dutch: [
    /\b(?:ik|wij|we|daar|hier)(?: ik)? (?:kan|kunnen|mag|mogen)(?: ik| je| jou| u| hier| daar| daarbij| hierbij| helaas)*.{0,20}\bniet (?:bij |mee |aan )?(?:helpen|assisteren|beantwoorden|voldoen|ondersteunen)\b/,
  ],
  polish: [
    /(?:^|[\s,.])nie (?:mogę|możemy|jestem w stanie) (?:ci |panu |pani |w tym |na to )*(?:pomóc|odpowiedzieć na (?:to|t[eo])|spełnić|udzielić (?:pomocy|tej))/,
  ],
  turkish: [/\bbu(?:na| konuda| isteğ\S*| taleb\S*)?.{0,30}\b(?:yardımcı olam|yardım edem|yerine getirem)/],
  russian: [
    /(?:^|[\s,.])(?:я )?не (?:могу|можем|имею права) (?:вам |тебе |с этим |в этом )*(?:помочь|ответить на (?:этот|такой)|выполнить (?:эт|так|ваш)|предоставить (?:так|эт))/,
  ],
  japanese: [
    /(?:お手伝い(?:する(?:こと)?は|は|が|することが)?(?:でき(?:ません|かねます)|いたしかねます)|(?:お答え|対応|ご?協力|ご?支援)(?:する(?:こと)?は|は|が|することが)?(?:でき(?:ません|かねます)|いたしかねます)|お応えでき(?:ません|かねます))/,
  ],
  chinese: [
    /(?:我|我们)?(?:无法|不能|不会|沒辦法|没办法|無法)(?:为您|为你|為您|為你|向您|向你)?(?:提供(?:这|此|该|這|該|任何|相关|相關)?.{0,6}(?:帮助|协助|幫助|協助|指导|指導)|协助|帮助您|帮助你|帮您|帮你|幫助您|幫助你|協助|回答(?:这|此|该|這|該)|满足(?:这|此|该|您|你)|滿足)/,
  ],
  korean: [
    /(?:도와\s?드릴 수 없|도와\s?드리기 어렵|도움을 드릴 수 없|도움을 드리기 어렵|답변(?:을|해)?\s?드릴 수 없|요청(?:을|은|에)? (?:들어|수행|응)[^.]{0,8}수 없|제공해?\s?드릴 수 없)/,
  ],
};

const ALL_FORMS = Object.values(FORMS).flat();

const ID = 'behaviour';

/** An agent run with what it took. A measure whose fact is absent has no row. */
export interface BehaviourRunInput extends AgentRunInput {
  readonly usage?: Partial<TokenUsage>;
  readonly durationMs?: number;
  readonly costUsd?: number | null;
  /** Reason why the model stopped, as its provider names it: `length`, `max_tokens`. */
  readonly finishReason?: string;
  /** Measures of the runs of the agent in the last week. Absent: the ranges are those of a new agent, and there is no path. */
  readonly past?: AgentPast;
}

/** A measure of one run, and what was found. */
interface Measured {
  readonly score: number;
  readonly reason?: string;
}

type MeasuredRun = Partial<Record<Measure, Measured>>;

export interface BehaviourResults {
  preprocessStepResult: MeasuredRun;
}

/** Measures what a run did, one row for each measure. Uses no judge. */
export function createBehaviourScorer(
  options: NoOptions = {},
): RunnableScorer<BehaviourRunInput, BehaviourResults> {
  checkOptions(ID, options, {});
  return createScorer<BehaviourRunInput['input'], BehaviourRunInput['output']>({
    id: ID,
    name: 'Behaviour',
    description: 'What a run did: its tokens, cost, duration, steps, tool calls and answer',
    namedScoresOnly: true,
    version: '1',
    options: {},
    details: ({ run, results }) => ({
      scores: listScores(
        (results as unknown as BehaviourResults).preprocessStepResult,
        (run as BehaviourRunInput).past,
      ),
    }),
  })
    .preprocess(({ run }) => measure(run as BehaviourRunInput))
    .generateScore(({ results }) => results.preprocessStepResult.answered?.score ?? 0) as RunnableScorer<
    BehaviourRunInput,
    BehaviourResults
  >;
}

function listScores(measured: MeasuredRun, past: AgentPast | undefined): NamedScore[] {
  return MEASURES.flatMap((name) => {
    const found = measured[name];
    if (found === undefined) {
      return [];
    }
    const { score, reason = '' } = found;
    const max = chooseRange(name, past?.measures.get(name));
    return {
      name: nameMeasure(name),
      score,
      label: name === 'answered' ? (score === 1 ? 'answered' : reason) : score > max ? 'high' : 'usual',
      higherIsBetter: name === 'answered',
      range: [0, max] as const,
      ...(reason === '' ? {} : { reason }),
    };
  });
}

function measure(run: BehaviourRunInput): MeasuredRun {
  const { usage, durationMs, costUsd, past, finishReason } = run;
  const { steps, calls, path, answer } = readActs(run);
  const tokens = usage?.totalTokens ?? sumTokens(usage);
  const failed = calls.filter(isFailed);
  const fault = findFault(answer, finishReason);
  const transitions = past?.transitions;
  return {
    ...(tokens === null ? {} : { tokens: { score: tokens } }),
    ...(typeof costUsd === 'number' ? { cost: { score: costUsd } } : {}),
    ...(durationMs === undefined ? {} : { duration: { score: durationMs / 1_000 } }),
    steps: { score: steps, reason: writePath(path) },
    'tool-calls': { score: calls.length },
    'tool-errors': { score: failed.length, reason: nameCalls(failed) },
    repeats: measureRepeats(calls),
    'answer-length': { score: answer?.length ?? 0 },
    answered: fault === undefined ? { score: 1 } : { score: 0, reason: fault },
    ...(transitions === undefined || transitions.runs < LEAST_RUNS
      ? {}
      : { path: { score: computeSurprise(path, transitions) } }),
  };
}

function sumTokens(usage: BehaviourRunInput['usage']): number | null {
  const { inputTokens = null, outputTokens = null } = usage ?? {};
  return inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
}

/** Steps of the agent, in order. A step is a model call with the tools that it asked for. */
interface Acts {
  readonly steps: number;
  readonly calls: readonly LooseInvocation[];
  /** Names of the called tools, then `answer` if the run ends with one. */
  readonly path: readonly string[];
  /** The answer; null for a run that ends with a tool or without output. */
  readonly answer: string | null;
}

function readActs(run: BehaviourRunInput): Acts {
  const messages = (Array.isArray(run.output) ? run.output : []).filter(({ role }) => role === 'assistant');
  const parts = messages.map(listParts);
  const all = messages.flatMap((message) => mergeToolInvocations(message));
  const transfers = new Set(
    parts.flat().flatMap((part) => (part['handoff'] === true ? [part['toolInvocation']] : [])),
  );
  const calls = all.filter((call) => !transfers.has(call) && !ANSWER_TOOLS.has(nameTool(call)));
  const answer = findAnswer(
    run,
    parts.flat(),
    all.findLast((call) => ANSWER_TOOLS.has(nameTool(call))),
  );
  return {
    steps: parts.reduce((sum, list) => sum + 1 + list.filter(({ type }) => type === 'step-start').length, 0),
    calls,
    path: [...calls.map(nameTool), ...(answer === null || answer.trim() === '' ? [] : ['answer'])],
    answer,
  };
}

function findAnswer(
  run: BehaviourRunInput,
  parts: readonly Record<string, unknown>[],
  returned: LooseInvocation | undefined,
): string | null {
  const last = parts.findLast(({ type }) => type === 'text' || type === 'tool-invocation');
  const answer = readAnswer(run);
  if (last?.['type'] === 'tool-invocation') {
    return returned === undefined ? null : answer || (JSON.stringify(returned.args) ?? '');
  }
  return answer === '' && last === undefined && isNothing(run.output) ? null : answer;
}

function isNothing(output: unknown): boolean {
  return output === undefined || output === null || (Array.isArray(output) && output.length === 0);
}

function listParts(message: unknown): Record<string, unknown>[] {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) ? content['parts'] : undefined;
  return Array.isArray(parts) ? parts.filter(isObject) : [];
}

/** Returns true for a call with an error. A call without a result may only lack its record. */
function isFailed({ state, isError, result }: LooseInvocation): boolean {
  return state === 'output-error' || isError === true || (isObject(result) && Boolean(result['error']));
}

function nameTool({ toolName }: LooseInvocation): string {
  return toolName ?? '?';
}

function measureRepeats(calls: readonly LooseInvocation[]): Measured {
  const times = new Map<string, { call: LooseInvocation; count: number }>();
  for (const call of calls) {
    const key = `${nameTool(call)} ${canonicalJson(call.args ?? null)}`;
    times.set(key, { call, count: (times.get(key)?.count ?? 0) + 1 });
  }
  const repeated = [...times.values()].filter(({ count }) => count > 1);
  return {
    score: repeated.reduce((sum, { count }) => sum + count - 1, 0),
    reason: nameMost(repeated.map(({ call, count }) => [nameTool(call), count])),
  };
}

function nameCalls(calls: readonly LooseInvocation[]): string {
  const groups = Map.groupBy(calls, nameTool);
  return nameMost([...groups].map(([name, list]) => [name, list.length]));
}

/** Most names in a reason. */
const MOST_NAMES = 3;

function nameMost(counts: readonly (readonly [name: string, times: number])[]): string {
  return counts
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_NAMES)
    .map(([name, times]) => writeTimes(name, times))
    .join(', ');
}

/** Finds why a run has no usable answer. */
function findFault(
  answer: string | null,
  finishReason: string | undefined,
): 'none' | 'empty' | 'cut' | 'refusal' | undefined {
  if (answer === null || answer.trim() === '') {
    return answer === null ? 'none' : 'empty';
  }
  return isCutFinish(finishReason ?? '') ? 'cut' : isRefusal(answer) ? 'refusal' : undefined;
}

/** Returns true for an answer that begins with a refusal in one of the common forms. */
function isRefusal(answer: string): boolean {
  if (answer.length > MOST_CHARS) {
    return false;
  }
  const begin = answer
    .slice(0, BEGIN_CHARS)
    .toLowerCase()
    .replace(/[‘’ʼ`´]/g, "'")
    .replace(/\s+/g, ' ');
  return ALL_FORMS.some((form) => form.test(begin));
}
