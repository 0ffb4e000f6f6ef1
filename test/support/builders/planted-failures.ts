import { decodeTraces, readTrace } from '../../../src/conventions/index.ts';
import { computeIssueId, signFailure } from '../../../src/domain/failure.ts';
import type { WholeCase } from '../../../src/domain/issue-case.ts';
import type { Score } from '../../../src/domain/score.ts';
import { buildCase, type CaseTerms } from '../../../src/issues/build-case.ts';
import { findFailures } from '../../../src/issues/find-failures.ts';
import { buildFailure } from './a-failure.ts';
import { aScore } from './a-score.ts';
import { AgentTraceBuilder, anAgentTrace, exportRequest } from './agent-trace.ts';

export const BAD_CLAIM = 'It is 25 degrees in Paris.';
/** Answer without a failure. */
export const GOOD = 'It is 18 degrees in Paris.';

const run = () => new AgentTraceBuilder();
const times = <Item>(count: number, build: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => build(index));
const withCalls = (
  builder: AgentTraceBuilder,
  calls: readonly { name: string; args: object; result: unknown }[],
) => calls.reduce((whole, call) => whole.with(call), builder);

/** Runs with one planted failure each. */
export const PLANTED: Readonly<Record<string, () => { spans: Spans }>> = {
  'a failed tool': () => ({
    spans: run()
      .with({ name: 'refund', args: { order: 7 }, error: 'HTTP 504: no reply' })
      .answering('The money is on its way.')
      .spans(),
  }),
  'equal calls': () => ({
    spans: withCalls(
      run(),
      times(3, () => ({ name: 'search', args: { q: 'sky' }, result: [] })),
    )
      .answering('Nothing was found.')
      .spans(),
  }),
  'a cycle of tools': () => ({
    spans: withCalls(
      run(),
      times(8, (index) => ({
        name: index % 2 === 0 ? 'search' : 'open',
        args: { page: index },
        result: { page: index },
      })),
    )
      .answering('Nothing was found.')
      .spans(),
  }),
  'a refusal': () => ({ spans: run().answering("I can't help with that.").spans() }),
  'a cut answer': () => ({ spans: cutAnswer(run().answering('The weather in Paris is').spans()) }),
  'a failed run': () => ({ spans: failedRun() }),
  'a contradicted claim': () => ({
    spans: anAgentTrace().asking('What is the weather?').answering(BAD_CLAIM).spans(),
  }),
};

type Spans = ReturnType<AgentTraceBuilder['spans']>;

function cutAnswer(spans: Spans): Spans {
  return spans.map((span) => ({
    ...span,
    attributes: [
      ...span.attributes,
      { key: 'gen_ai.response.finish_reasons', value: { stringValue: '["length"]' } },
    ],
  }));
}

/** A run that ended with an error, before an answer. */
function failedRun(): Spans {
  const spans = run().spans();
  return spans.map((span) => ({
    ...span,
    attributes: span.attributes
      .filter(({ key }) => key !== 'gen_ai.output.messages')
      .concat({ key: 'error.type', value: { stringValue: 'TimeoutError' } }),
    status: { code: 2, message: 'the model did not reply' },
  }));
}

/** Builds the case of the failure of a run. */
export async function buildPlanted(spans: Spans, redaction: CaseTerms['redaction'] = {}): Promise<WholeCase> {
  const { traces } = decodeTraces(exportRequest(spans));
  const data = traces[0]!;
  const [agentRun] = readTrace(data).runs;
  const verdicts = [{ statement: BAD_CLAIM, verdict: 'contradicted', quote: '"tempC":18' }];
  const scorer = 'grounding-faithfulness';
  const isClaim = agentRun!.output.some(({ content }) => content.content === BAD_CLAIM);
  const scores: Score[] = isClaim
    ? [aScore({ scorer, score: 0, higherIsBetter: true, scoreMin: 0, scoreMax: 1 })]
    : [];
  const [found] = findFailures(agentRun!, { judged: isClaim ? [{ scorer, verdicts }] : [] });
  const issueId = computeIssueId('', 'weather-agent', signFailure(found!));
  const failure = buildFailure({ ...found, issueId, traceId: data.traceId });
  return buildCase(
    { issueId, failure, data, run: agentRun!, scores },
    { redaction, findBar: async () => 0.5 },
  );
}
