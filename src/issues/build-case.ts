import { directScore } from '../domain/agreement/directed-score.ts';
import { nameMeasure } from '../domain/behaviour/measures.ts';
import type { Failure } from '../domain/failure.ts';
import { sha256Hex } from '../domain/identity.ts';
import type { CaseExpectation, RecordedRun, WholeCase } from '../domain/issue-case.ts';
import { isBelow } from '../domain/limits.ts';
import type { Score } from '../domain/score.ts';
import { ANSWER_CUT, type AgentRun } from '../domain/trace/agent-run.ts';
import type { TraceData } from '../domain/trace/span.ts';
import { createRedactor, DEFAULT_PATTERNS, type RedactionOptions } from '../judge/redaction/redaction.ts';
import type { LooseInvocation } from '../scorers/evals/trajectory.ts';
import { createBehaviourScorer } from '../scorers/prebuilt/behaviour.ts';
import { nameTool, readActs, readRecordedCall } from '../scorers/shared/acts.ts';
import { getTextContentFromMastraDBMessage, readQuestion } from '../scorers/shared/messages.ts';
import { encodeOtlpJson } from '../wire/encode-otlp.ts';

export interface CaseSource {
  readonly issueId: string;
  readonly failure: Failure;
  readonly data: TraceData;
  readonly run: AgentRun;
  readonly scores: readonly Score[];
}

export interface CaseTerms {
  readonly redaction: RedactionOptions;
  /** Returns the directed score from which a row of a scorer passes; undefined for a row that no scorer of the configuration writes. */
  readonly findBar: (row: string) => Promise<number | undefined>;
}

/** Secrets that an export never has, whatever the configuration says. */
const SECRETS = ['api-key', 'jwt', 'private-key'];

const redactions = new WeakMap<RedactionOptions, RedactionOptions>();

/** Returns the redaction of exports: what the configuration says, and the shapes of secrets in any case. */
function redactionOfExports(options: RedactionOptions): RedactionOptions {
  const { enabled = true, fields, patterns = DEFAULT_PATTERNS } = options;
  const known = redactions.get(options) ?? {
    fields: enabled ? fields : [],
    patterns: [...new Set([...(enabled ? patterns : []), ...SECRETS])],
  };
  redactions.set(options, known);
  return known;
}

export function redactTitle(title: string, options: RedactionOptions): string {
  return createRedactor(redactionOfExports(options)).text(title);
}

export async function buildCase(source: CaseSource, { redaction, findBar }: CaseTerms): Promise<WholeCase> {
  const { issueId, failure, run, data } = source;
  const measured = await measureRun(run);
  const expected = await chooseExpectation(source, { measured, findBar });
  const redactor = createRedactor(redactionOfExports(redaction));
  const requests = encodeOtlpJson(data, (value) => redactor.run(value));
  const { input, output } = run;
  const { calls, answer } = readActs({ input, output });
  const shown = redactor.run({
    input: readQuestion({ input, output }),
    output: answer ?? '',
    context: run.context,
    run: buildRecordedRun(run, calls),
  });
  return {
    shown: {
      id: sha256Hex(`${issueId} ${failure.traceId}`).slice(0, 12),
      input: shown.input,
      output: shown.output,
      context: shown.context,
      tags: [`issue:${issueId}`, failure.kind],
      metadata: {
        issue: issueId,
        traceId: failure.traceId,
        expect: expected?.expect ?? null,
        score: expected?.score ?? null,
        flaky: false,
      },
    },
    run: shown.run,
    spanId: run.target.spanId,
    requests,
  };
}

function buildRecordedRun(run: AgentRun, calls: readonly LooseInvocation[]): RecordedRun {
  const { input, context, documents, tools } = run;
  const asked = [...input.rememberedMessages, ...input.inputMessages];
  return {
    input,
    messages: asked.map((message) => ({
      role: message.role,
      content: getTextContentFromMastraDBMessage(message),
    })),
    calls: calls.map(readRecordedCall),
    context,
    documents,
    ...(tools === undefined ? {} : { tools }),
    isCut: isCut(run),
  };
}

function isCut({ warnings }: AgentRun): boolean {
  return warnings.some(({ code }) => code === ANSWER_CUT);
}

/** Directed scores of the measures of a run without a past, as files are scored. */
async function measureRun(run: AgentRun): Promise<ReadonlyMap<string, number>> {
  const { scores = [] } = await createBehaviourScorer().run({
    input: run.input,
    output: run.output,
    ...(isCut(run) ? { finishReason: 'length' } : {}),
  });
  return new Map(
    scores.map(({ name, score, range, higherIsBetter = null }) => [
      name,
      directScore(score, { scoreMin: range?.[0] ?? null, scoreMax: range?.[1] ?? null, higherIsBetter }),
    ]),
  );
}

/** Expectation with the directed score of the recorded answer. */
interface Expected {
  readonly expect: CaseExpectation;
  readonly score: number;
}

interface Known {
  readonly measured: ReadonlyMap<string, number>;
  readonly findBar: CaseTerms['findBar'];
}

/** Chooses what a good answer has and the recorded one has not; undefined when no scorer tells them apart. */
async function chooseExpectation(source: CaseSource, known: Known): Promise<Expected | undefined> {
  const { failure, scores, run } = source;
  const measure = (name: Parameters<typeof nameMeasure>[0], min = 1): Expected | undefined => {
    const score = known.measured.get(nameMeasure(name));
    return score === undefined || !isBelow(score, min)
      ? undefined
      : { expect: { scorer: nameMeasure(name), min }, score };
  };
  const chosen = {
    'tool-error': () => measure('tool-errors'),
    loop: () => measure('repeats') ?? measure('tool-calls', countGoodCalls(failure, run)),
    answer: () => measure('answered'),
    error: () => measure('answered'),
  };
  return Object.hasOwn(chosen, failure.kind)
    ? chosen[failure.kind as keyof typeof chosen]()
    : chooseScored(failure, scores, known.findBar);
}

/** Range of the number of tool calls of a run without a past, and the least part of it that a shorter run may reach. */
const CALLS_RANGE = 10;
const LEAST_MIN = 0.1;

/** Returns the directed number of calls of a run that goes through a cycle once. */
function countGoodCalls({ subject }: Failure, run: AgentRun): number {
  const cycle = new Set((subject?.tool ?? '').split(' → '));
  const { calls } = readActs({ input: run.input, output: run.output });
  const others = calls.filter((call) => !cycle.has(nameTool(call))).length;
  return Math.max(LEAST_MIN, 1 - (others + cycle.size) / CALLS_RANGE);
}

/** Chooses among the scores of a run: the row that found the failure, else the worst one that fails. */
async function chooseScored(
  { scorer, kind }: Failure,
  scores: readonly Score[],
  findBar: CaseTerms['findBar'],
): Promise<Expected | undefined> {
  const candidates: Expected[] = [];
  for (const row of scores) {
    const bar = scorer === '' || row.scorer === scorer ? await findBar(row.scorer) : undefined;
    if (bar !== undefined) {
      const score = directScore(row.score, row);
      // Every claim of a good answer is supported; another scorer has a bar.
      const min = kind === 'claim' || !isBelow(score, bar) ? 1 : bar;
      candidates.push(...(isBelow(score, min) ? [{ expect: { scorer: row.scorer, min }, score }] : []));
    }
  }
  const failing = scorer === '' ? candidates.filter(({ expect }) => expect.min < 1) : candidates;
  return failing.toSorted((a, b) => a.score - b.score || (a.expect.scorer < b.expect.scorer ? -1 : 1))[0];
}
