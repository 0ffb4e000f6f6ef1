import { findAnswerFault } from '../domain/behaviour/answers.ts';
import { cutText } from '../domain/cut-text.ts';
import { ANSWER_CUT, type AgentRun } from '../domain/trace/agent-run.ts';
import { type Feedback, type FoundFailure, type JudgedRun, signFailure } from '../domain/failure.ts';
import { directScore, type Scale } from '../domain/agreement/directed-score.ts';
import { isBelow } from '../domain/limits.ts';
import { findRowScorer } from '../domain/score-rows.ts';
import type { LooseInvocation } from '../scorers/evals/trajectory.ts';
import { isFailedCall, listRepeats, nameTool, readActs } from '../scorers/shared/acts.ts';
import { readInputText } from '../scorers/shared/messages.ts';
import { collectValues, listNames, maskText } from './mask-text.ts';

/** Longest text of a failure, characters. */
const MAX_TEXT = 1_000;

/** Most failures of one run. */
const MAX_FAILURES = 50;

/** Equal calls from which a run loops, and steps of a cycle. */
const LOOP_CALLS = 3;
const CYCLE_STEPS = 8;
const CYCLE_LENGTHS = [2, 3, 4];

/** Terms on which the scores of each scorer are failures, by the scorer's name. */
export type FailureTerms = ReadonlyMap<
  string,
  {
    /** Directed score below which a run fails. */
    readonly bar?: number | undefined;
    /** True for a scorer of tool calls or of steps. */
    readonly isOfTools: boolean;
  }
>;

/** Words of scorers and users about a run. */
export interface SaidOfRun {
  readonly judged?: readonly JudgedRun[];
  readonly feedback?: readonly Feedback[];
}

/** Finds the failures of a run: at most one of each signature. Needs no judge for what the run itself tells. */
export function findFailures(
  run: AgentRun,
  { judged = [], feedback = [] }: SaidOfRun,
  terms: FailureTerms = new Map(),
): FoundFailure[] {
  const { calls, answer } = readActs({ input: run.input, output: run.output });
  const values = readOnce(() => collectRunValues(run, calls));
  const typeOf = readErrorTypes(run);
  const own = { scorer: '', source: '', spanId: run.target.spanId, evidence: null };
  const found: FoundFailure[] = [
    ...findClaims(judged, calls, values).map((claim) => ({
      ...claim,
      spanId: claim.evidence?.spanId || own.spanId,
    })),
    ...calls.filter(isFailedCall).map((call) => {
      const text = readCallError(call);
      return {
        ...own,
        kind: 'tool-error' as const,
        text,
        subject: { tool: nameTool(call), ...typeError(text, typeOf.get(call) ?? null, values) },
      };
    }),
    ...findLoops(calls).map((loop) => ({
      ...own,
      kind: 'loop' as const,
      text: loop,
      subject: { tool: loop },
    })),
    ...findEnds(run, answer, values).map((end) => ({ ...own, ...end })),
    ...[
      ...findToolChoices(judged, calls.map(nameTool), terms),
      ...findBroken(judged, values, terms),
      ...findDislikes([...feedback, ...judged.flatMap(readDislike)], values),
    ].map((failure) => ({ ...own, ...failure })),
  ];
  const bySignature = new Map(found.map((failure) => [signFailure(failure), failure] as const).toReversed());
  return [...bySignature.values()].toReversed().slice(0, MAX_FAILURES);
}

/** Reads the values of a run, which few runs need. */
type Values = () => ReadonlySet<string>;

function readOnce(read: Values): Values {
  let values: ReadonlySet<string> | undefined;
  return () => (values ??= read());
}

/** Most characters of a question in which names are looked for. */
const MAX_QUESTION = 10_000;

function collectRunValues({ input, output }: AgentRun, calls: readonly LooseInvocation[]): Set<string> {
  const question = readInputText({ input, output }).slice(0, MAX_QUESTION);
  return collectValues([listNames(question), ...calls.map(({ result }) => readJson(result))]);
}

const BAD_CLAIMS = new Set(['contradicted', 'unsupported']);

function findClaims(
  judged: readonly JudgedRun[],
  calls: readonly LooseInvocation[],
  values: Values,
): FoundFailure[] {
  return judged.flatMap(({ scorer, verdicts }) =>
    verdicts
      .filter(({ verdict }) => BAD_CLAIMS.has(verdict))
      .map(({ statement, verdict, quote = '', source = '', spanId = '' }) => {
        const isContradicted = verdict === 'contradicted' && quote !== '';
        const field = isContradicted ? findField(calls, quote) : undefined;
        const words = {
          text: maskText(statement, values()),
          ...(isContradicted ? { quote: maskText(quote, values()) } : {}),
        };
        return {
          kind: 'claim' as const,
          subject: { verdict, ...(field ?? words) },
          text: cutText(statement, MAX_TEXT),
          scorer,
          source: field?.tool ?? source,
          spanId,
          evidence:
            quote === '' ? null : { source: field?.tool ?? source, quote: cutText(quote, MAX_TEXT), spanId },
        };
      }),
  );
}

/** Finds the innermost field that holds a quote, in the JSON results of tools. */
function findField(
  calls: readonly LooseInvocation[],
  quote: string,
): { readonly tool: string; readonly path: string } | undefined {
  const wanted = squeeze(quote);
  for (const call of calls) {
    const result = readJson(call.result);
    if (typeof result === 'object' && result !== null && holds(result, wanted)) {
      return { tool: nameTool(call), path: descend(result, wanted).join('.') };
    }
  }
  return undefined;
}

function descend(node: object, wanted: string): string[] {
  const isList = Array.isArray(node);
  for (const [key, value] of Object.entries(node) as [string, unknown][]) {
    const text = isList
      ? squeeze(JSON.stringify(value) ?? '')
      : squeeze(`${JSON.stringify(key)}:${JSON.stringify(value) ?? ''}`);
    const plain = typeof value === 'object' ? '' : text.replaceAll('"', '');
    if (text.includes(wanted) || plain.includes(wanted)) {
      const rest =
        typeof value === 'object' && value !== null && holds(value, wanted) ? descend(value, wanted) : [];
      return isList ? rest : [key, ...rest];
    }
  }
  return [];
}

function holds(value: object, wanted: string): boolean {
  const json = squeeze(JSON.stringify(value));
  return json.includes(wanted) || json.replaceAll('"', '').includes(wanted.replaceAll('"', ''));
}

function squeeze(text: string): string {
  return text.replace(/\s+/gu, '').toLowerCase();
}

function readJson(result: unknown): unknown {
  if (typeof result !== 'string' || !/^\s*[[{]/.test(result)) {
    return result;
  }
  try {
    return JSON.parse(result) as unknown;
  } catch {
    return result;
  }
}

function readCallError(call: LooseInvocation): string {
  const { errorText, result } = call;
  const inside =
    typeof result === 'object' && result !== null ? (result as Record<string, unknown>)['error'] : result;
  const text =
    errorText ?? (typeof inside === 'string' ? inside : inside === undefined ? '' : JSON.stringify(inside));
  return cutText(text, MAX_TEXT);
}

/** Reads the types of errors that the spans of tools name, by call. */
function readErrorTypes({ output }: AgentRun): Map<unknown, string> {
  return new Map(
    output
      .flatMap(({ content }) => content.parts)
      .flatMap((part) =>
        part.type === 'tool-invocation' && part.errorType !== undefined
          ? [[part.toolInvocation, part.errorType] as const]
          : [],
      ),
  );
}

/** Types that say nothing. */
const GENERIC = /^(?:|error|exception|_other|other|unknown|tool_?error|baseexception)$/i;

/** Forms of a status code: named as one, or a known one that stands where a status does and counts nothing. */
const STATUSES = [
  /(?:\bHTTP(?:\/[\d.]+)?|\bstatus(?: code)?|\bcode)[\s:=]*([1-5]\d{2})\b/i,
  /(?:^|[([]|\b(?:error|errored|returned|returns|got|gave|received|responded|replied|answered|failed|with|response|reply):?\s+)(4(?:0\d|1[0-8]|2[1-689]|31|51)|5(?:0[0-8]|1[01]|2\d|30))\b(?!\.\d|\s*(?:%|[a-z]?s\b|[kmg]i?b\b|sec|min|hour|day|token|byte|char|word|item|row|result|request|record|time))/i,
];

/** Reads what makes two errors the same: class, status code, and the masked first line of the message. */
function typeError(
  message: string,
  type: string | null,
  values: Values,
): { readonly errorType: string; readonly text: string } {
  const line = unwrap(message).trim().split('\n', 1)[0] ?? '';
  const [, leading = '', rest = line] =
    /^([A-Za-z_][\w.]*(?:Error|Exception|Timeout|Fault)?)\s*:\s*(.*)$/.exec(line) ?? [];
  const named = [type ?? '', leading].find((name) => !GENERIC.test(name)) ?? '';
  const isCode = /^[1-5]\d{2}$/.test(type ?? '');
  const isClass = (named === type && !isCode) || /(?:Error|Exception|Timeout|Fault)$/.test(named);
  const told = STATUSES.map((form) => form.exec(line)?.[1]).find((code) => code !== undefined);
  const status = isCode ? type : told;
  return {
    errorType: [isClass ? named : '', status === undefined ? '' : `HTTP ${status}`].filter(Boolean).join(' '),
    text: maskText(isClass && named === leading ? rest : line, values()),
  };
}

/** Fields of JSON in which services write what failed. */
const MESSAGE_FIELDS = ['message', 'error', 'detail', 'error_description', 'title', 'reason'];

/** Takes the words out of an error that is JSON, or a sentence before JSON. */
function unwrap(message: string): string {
  const at = message.indexOf('{');
  const body = at < 0 ? message : readJson(message.slice(at));
  const said = at < 0 ? undefined : findSaid(body);
  return said === undefined ? message : message.slice(0, at) + said;
}

function findSaid(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) {
    return undefined;
  }
  const fields = MESSAGE_FIELDS.map((name) => (body as Record<string, unknown>)[name]);
  return fields.find((value) => typeof value === 'string') ?? fields.map(findSaid).find(Boolean);
}

function findLoops(calls: readonly LooseInvocation[]): string[] {
  const tools = new Set(listRepeats(calls).flatMap(({ tool, count }) => (count >= LOOP_CALLS ? [tool] : [])));
  const names = calls.map(nameTool);
  return [...tools, ...(tools.size === 0 ? findCycle(names) : [])];
}

function findCycle(names: readonly string[]): string[] {
  for (const length of CYCLE_LENGTHS) {
    let steps = 0;
    for (let at = length; at < names.length; at += 1) {
      steps = names[at] === names[at - length] ? steps + 1 : 0;
      const cycle = names.slice(at - length + 1, at + 1);
      if (steps + length >= CYCLE_STEPS && new Set(cycle).size > 1) {
        // One name for a cycle, wherever it is entered.
        const turns = cycle.map((_, by) => [...cycle.slice(by), ...cycle.slice(0, by)].join(' → '));
        return [turns.toSorted()[0] ?? ''];
      }
    }
  }
  return [];
}

const HALTED = new Set(['run_waiting', 'run_cancelled', 'run_incomplete', 'evaluation_span']);

/** Finds how a run ended badly: with an error, or with an answer of no use. */
function findEnds(
  run: AgentRun,
  answer: string | null,
  values: Values,
): Pick<FoundFailure, 'kind' | 'subject' | 'text'>[] {
  if (HALTED.has(run.notScorable?.code ?? '')) {
    return [];
  }
  if (run.status === 'error') {
    const text = cutText(run.error?.message ?? '', MAX_TEXT);
    return [{ kind: 'error', subject: typeError(text, run.error?.type ?? null, values), text }];
  }
  const isRead = run.scorable || run.notScorable?.code === 'run_errored_before_output';
  const isCut = run.warnings.some(({ code }) => code === ANSWER_CUT);
  const fault = isRead ? findAnswerFault(answer, isCut ? 'length' : undefined) : undefined;
  return fault === undefined || fault === 'none'
    ? []
    : [{ kind: 'answer', subject: { answer: fault }, text: cutText(answer ?? '', MAX_TEXT) }];
}

type Said = Pick<FoundFailure, 'kind' | 'subject' | 'text'> &
  Partial<Pick<FoundFailure, 'scorer' | 'spanId'>>;

/** Faults of calls and steps by the verdicts of scorers. */
const FAULTS: readonly (readonly [verdict: RegExp, fault: string])[] = [
  [/^missing$/, 'missing'],
  [/^(?:inappropriate$|unneeded$|unnecessary)/, 'unneeded'],
  [/^wrong arguments$/, 'wrong arguments'],
  [/out of order$/, 'out of order'],
];

/** Finds wrong choices of tools. A tool that was called without need and is missing, too, got wrong arguments. */
function findToolChoices(
  judged: readonly JudgedRun[],
  called: readonly string[],
  terms: FailureTerms,
): Said[] {
  return judged
    .filter(({ scorer }) => findTerms(scorer, terms)?.isOfTools)
    .flatMap(({ scorer, verdicts }) => {
      const faults = verdicts.flatMap(({ statement, verdict }) => {
        const fault = FAULTS.find(([pattern]) => pattern.test(verdict))?.[1];
        return fault === undefined ? [] : [{ tool: readTool(statement, called), fault, statement }];
      });
      const has = (tool: string, wanted: string) =>
        faults.some((each) => each.tool === tool && each.fault === wanted);
      return faults.flatMap(({ tool, fault, statement }) => {
        const isSwapped = has(tool, 'missing') && has(tool, 'unneeded');
        const verdict = isSwapped ? 'wrong arguments' : fault;
        return isSwapped && fault === 'missing'
          ? []
          : [
              {
                kind: 'tool-choice' as const,
                subject: { tool, verdict },
                text: cutText(statement, MAX_TEXT),
                scorer,
              },
            ];
      });
    });
}

/** Reads the name of a tool from a statement that may have its arguments behind. */
function readTool(statement: string, called: readonly string[]): string {
  const [longest] = called
    .filter((name) => statement === name || statement.startsWith(`${name} `))
    .toSorted((a, b) => b.length - a.length);
  return longest ?? statement.split(' {', 1)[0] ?? '';
}

function findTerms(row: string, terms: FailureTerms) {
  return terms.get(findRowScorer(row, terms.keys()) ?? '');
}

const BY_PEOPLE = new Set(['human', 'api']);

/** Finds the scores below the bar of their scorer. */
function findBroken(judged: readonly JudgedRun[], values: Values, terms: FailureTerms): Said[] {
  return judged.flatMap((row) => {
    const { scorer, score, reason = '', source = 'live' } = row;
    const { bar } = findTerms(scorer, terms) ?? {};
    if (bar === undefined || score === undefined || BY_PEOPLE.has(source)) {
      return [];
    }
    return isBelow(directScore(score, readScale(row)), bar)
      ? [
          {
            kind: 'rule' as const,
            subject: { scorer, text: maskText(reason, values()) },
            text: cutText(reason, MAX_TEXT),
            scorer,
          },
        ]
      : [];
  });
}

function readScale({ scoreMin = null, scoreMax = null, higherIsBetter = null }: JudgedRun): Scale {
  return { scoreMin, scoreMax, higherIsBetter };
}

/** Reads a score below zero of a person or a program of the user. */
function readDislike({ scorer, score = 0, reason = '', source = 'live' }: JudgedRun): Feedback[] {
  return BY_PEOPLE.has(source) && score < 0 ? [{ text: reason || scorer, spanId: '' }] : [];
}

function findDislikes(feedback: readonly Feedback[], values: Values): Said[] {
  return feedback.map(({ text, spanId }) => ({
    kind: 'feedback' as const,
    subject: { text: maskText(text, values()) },
    text: cutText(text, MAX_TEXT),
    ...(spanId === '' ? {} : { spanId }),
  }));
}
