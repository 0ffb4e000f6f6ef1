import { decodeTraces, readTraces } from '../../../src/conventions/index.ts';
import { CONTENT_SWITCHES, findContentSwitch } from '../../../src/conventions/content-switches.ts';
import { normaliseTrace } from '../../../src/conventions/normalise-trace.ts';
import { DESCRIBED_EMITTERS, type DescribedEmitter, EMITTERS, type Emitter } from '../recordings/emitters.ts';
import type { AgentRun } from '../../../src/domain/agent-run.ts';
import { answerText, type ExpectedFacts, listFacts, invocationParts } from '../recordings/facts.ts';
import { listExpectations, recordedSpans } from '../recordings/recorded-spans.ts';

const FACTS = new Map([
  ['system', 'system text'],
  ['question', 'question'],
  ['history', 'history'],
  ['toolName', 'tool calls'],
  ['toolArgs', 'arguments'],
  ['toolResult', 'results'],
  ['toolError', 'tool failures'],
  ['answer', 'answer'],
  ['documents', 'documents'],
  ['model', 'model'],
  ['usage', 'usage'],
  ['session', 'session'],
  ['user', 'user'],
]);

const HEAD = `# What is read of each emitter

Made by a test from recordings of real instrumentations (\`test/fixtures/spans\`, \`test/fixtures/spans-multi\`); the second column
is what their readings hold. **Not sent** is what no recording of the emitter holds although its scenario had it; a fact in
neither column was not part of what was recorded.

Emitters that are not listed but speak one of the conventions (OpenTelemetry GenAI, OpenInference, OpenLLMetry) are read by
that convention. \`spanscore inspect\` tells of every run why it cannot be scored, of every span what was not understood, and per
service and scope which attributes of agents nothing looked at; \`explain\` does for a trace that keeps a run from being scored,
\`conventions\` for the store.

A placeholder that stands in place of content (\`__REDACTED__\`, \`<REDACTED>\`, \`[Scrubbed due to …]\`, \`HIDDEN:non-empty\`) is neither
question, answer nor evidence: it is left out with a warning that names the setting, and a run whose answer is one is not scored.

Some instrumentations do not nest: each model call is a trace of its own. Such traces of one service are joined where ids of
tool calls, the conversation, a session in which one call alone waits for that tool, or a step around them show that they are
one run; what could belong to two runs, and what is of two sessions, stays apart. The earliest trace (or the step around all) owns the run and is scored; the decision on each of the others says
\`part_of_run\` and names the owner. A piece that comes late has the run scored again.

From the store, siblings are looked for within two minutes before and after each piece, and on from those that are found; in a
service with more than 2,000 traces in that time, nearer. A run whose tool was asked for and whose answer is not there is waited
for six times \`decisionWait\`. A rule that samples draws the owner's trace id, and does not look at a piece that it did not draw: such
a piece counts when it is there before the run is scored. Put a span around the run, and it is one trace: no look-ups, no waiting.
`;

/** Returns the text of `docs/conventions.md`. */
export function conventionsDocument(): string {
  const rows = EMITTERS.map(formatRow);
  const details = EMITTERS.map(formatDetails);
  return [
    HEAD,
    '| Emitter | Read | Not sent | Several agents |',
    '|---|---|---|---|',
    ...rows,
    '',
    '## How to make them send it',
    '',
    ...details,
    '',
    '## The switch of every emitter',
    '',
    'What `inspect`, `explain` and `conventions` name when content is missing. An emitter is known by its scope, else by what',
    'only it says.',
    '',
    '| Emitter | Sends content by default | Setting | Checked against |',
    '|---|---|---|---|',
    ...CONTENT_SWITCHES.map(
      ({ emitter, sendsByDefault, setting, source }) =>
        `| ${emitter} | ${sendsByDefault ? 'yes' : 'no'} | ${setting} | ${source} |`,
    ),
    '',
    '## Read from descriptions',
    '',
    'Of these there are spans that others recorded, or only a description of their attributes (`test/fixtures/spans-spec`). What is',
    'not under **Read** was not in them.',
    '',
    '| Emitter | Spans | Read | Content | Session and user |',
    '|---|---|---|---|---|',
    ...DESCRIBED_EMITTERS.map(describedRow),
    '',
    'Older versions of Agent Framework, AutoGen, CrewAI, Google ADK, Koog, OpenAI Agents, Pydantic AI and smolagents are held to',
    'spans that others recorded, too. Of these there is a description alone, without a case of its own: Flue, VoltAgent,',
    'Braintrust, Sentry, OpenRouter, Semantic Kernel for .NET, Bedrock AgentCore.',
    '',
    'Mastra’s native records, as its storage and its exporters have them, are read from files in place of OTLP requests.',
    '',
  ].join('\n');
}

function isRecordedBy(emitter: Emitter, name: string): boolean {
  return emitter.cases.some((start) => name.startsWith(start));
}

function formatRow(emitter: Emitter): string {
  const cases = listExpectations<ExpectedFacts>('spans').filter(([name]) => isRecordedBy(emitter, name));
  const several = listExpectations<unknown>('spans-multi').filter(([name]) => isRecordedBy(emitter, name));
  const read = new Set(cases.flatMap(([name]) => [...listFacts(readTraces(recordedSpans('spans', name)))]));
  if (read.has('answerDown')) {
    read.add('answer');
  }
  // The expected usage is that of two model calls. Emitters that make more calls send other counts.
  if (listScorableFacts(cases.map(([name]) => recordedSpans('spans', name))).has('usage')) {
    read.add('usage');
  }
  const absent = new Set(cases.flatMap(([, expected]) => expected.absent ?? []));
  const missing = [...absent].filter((fact) => !read.has(fact) && fact !== 'toolError');
  if (cases.length === 0) {
    listScorableFacts(several.map(([name]) => recordedSpans('spans-multi', name))).forEach((fact) =>
      read.add(fact),
    );
  }
  const readNames = formatNames((fact) => read.has(fact));
  const count = several.length === 0 ? '–' : `${several.length} recordings`;
  return `| ${emitter.name} | ${readNames} | ${formatNames((fact) => missing.includes(fact)) || '–'} | ${count} |`;
}

function formatNames(holds: (fact: string) => boolean): string {
  return [...FACTS]
    .filter(([fact]) => holds(fact))
    .map(([, name]) => name)
    .join(', ');
}

function formatDetails(emitter: Emitter): string {
  const folder = listExpectations<unknown>('spans').some(([name]) => isRecordedBy(emitter, name))
    ? 'spans'
    : 'spans-multi';
  const [name = ''] = listExpectations<unknown>(folder).find(([one]) => isRecordedBy(emitter, one)) ?? [];
  const setting = formatSetting(recordedSpans(folder, name));
  return `- **${emitter.name}**: content: ${setting}. Session and user: ${emitter.identity}.`;
}

/** Lists the facts in the run of a described case. Such a case has a story of its own. */
function listRunFacts(run: AgentRun): string[] {
  const { input, output } = run;
  const calls = invocationParts(output).map((part) => part.toolInvocation);
  const held: Record<string, boolean> = {
    system: input.systemMessages.length > 0,
    question: input.inputMessages.length > 0,
    history: input.rememberedMessages.length > 0,
    toolName: calls.length > 0,
    toolArgs: calls.some((call) => Object.keys(call.args ?? {}).length > 0),
    toolResult: calls.some((call) => call.state === 'result'),
    toolError: calls.some((call) => call.state === 'output-error'),
    answer: answerText(run) !== '',
    documents: run.documents.length > 0,
    model: run.models.length > 0,
    usage: run.usage.inputTokens !== null,
    session: run.sessionId !== null,
    user: run.userId !== null,
  };
  return Object.keys(held).filter((fact) => held[fact]);
}

/** Lists the facts of all scorable runs in these recordings. */
function listScorableFacts(recordings: readonly string[]): Set<string> {
  const runs = recordings.flatMap((recording) => readTraces(recording).flatMap((reading) => reading.runs));
  return new Set(runs.filter((run) => run.scorable).flatMap(listRunFacts));
}

function describedRow(emitter: DescribedEmitter): string {
  const names = listExpectations<unknown>('spans-spec').flatMap(([name]) =>
    isRecordedBy(emitter, name) ? [name] : [],
  );
  const recordings = names.map((name) => recordedSpans('spans-spec', name));
  const held = listScorableFacts(recordings);
  const setting = formatSetting(recordings[0] ?? '');
  return `| ${emitter.name} | ${emitter.from} | ${formatNames((fact) => held.has(fact))} | ${setting} | ${emitter.identity} |`;
}

/** Returns the setting that makes the emitter of a recording send content. */
function formatSetting(recording: string): string {
  const spans = decodeTraces(recording).traces.flatMap((trace) => normaliseTrace(trace).spans);
  return findContentSwitch(spans.filter((span) => span.conventions.size > 0))?.setting ?? 'not known';
}
