import type { NotScorableReason } from '../../domain/trace/agent-run.ts';
import { ANSWER_TOOLS } from '../../domain/trace/messages.ts';
import { isCutFinish, type Halt } from '../../domain/trace/halt.ts';
import { endUnixNano } from '../../domain/trace/span.ts';
import type { ContentField, Hidden, NormalPart, SpanFacts } from '../normalised-span.ts';
import { contentAdvice } from '../advice/content-switches.ts';
import type { Call } from './call-index.ts';
import { findError, memberNodes } from './run-fields.ts';
import type { RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import { type Block, readAnswer, type Transcript } from './transcript.ts';

/** Finds the reason why this run cannot be scored; null when it can. */
export function notScorable(plan: RunPlan, transcript: Transcript): NotScorableReason | null {
  const nodes = [...memberNodes(plan), ...plan.subs.flatMap(memberNodes)];
  const error = findError(plan);
  if (!hasContent(listParts(nodes), transcript)) {
    return findHidden(nodes) === 'redacted'
      ? { code: 'redacted', detail: `every message of the run is a placeholder; ${contentAdvice(nodes)}` }
      : withoutContent(nodes, error);
  }
  if (readAnswer(transcript) === '' && error !== undefined) {
    const cause = error.message ?? error.type ?? 'no message';
    return { code: 'run_errored_before_output', detail: `the run failed before it gave an answer: ${cause}` };
  }
  const hiddenAnswer = readAnswer(transcript) === '' ? findHidden(nodes, 'output') : undefined;
  if (hiddenAnswer === 'redacted') {
    return { code: 'redacted', detail: `the answer is a placeholder; ${contentAdvice(nodes)}` };
  }
  if (hiddenAnswer === 'not_captured') {
    return withoutContent(nodes, error);
  }
  return unfinished(plan, transcript);
}

function findHidden(nodes: readonly SpanNode[], field?: ContentField): Hidden | undefined {
  const kinds = nodes.flatMap(({ facts: { hidden } }) =>
    field === undefined ? [...(hidden?.values() ?? [])] : (hidden?.get(field) ?? []),
  );
  return kinds.includes('redacted') ? 'redacted' : kinds[0];
}

/** True when there is content. Names of tools alone are not: emitters send them with content capture off. */
function hasContent(parts: readonly NormalPart[], transcript: Transcript): boolean {
  const isSaid = parts.some((part) => part.type !== 'tool-call' && part.type !== 'tool-result');
  return (
    isSaid ||
    transcript.blocks.some((block) => block.entries.some((entry) => entry.kind === 'part')) ||
    transcript.calls.all.some((call) => call.state === 'result' || (call.args ?? undefined) !== undefined)
  );
}

function withoutContent(nodes: readonly SpanNode[], error: SpanFacts['error']): NotScorableReason {
  if (nodes.some((node) => node.facts.contentByReference === true)) {
    const detail = `the messages are stored elsewhere, the spans hold their addresses only; unset OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK, which uploads them, and ${contentAdvice(nodes)}`;
    return { code: 'content_by_reference', detail };
  }
  const failed = error === undefined ? '' : ' (the run also failed)';
  return {
    code: 'no_content_captured',
    detail: `the spans carry no messages${failed}; ${contentAdvice(nodes)}`,
  };
}

/**
 * Finds a run that is not at its end: it waits, was cancelled, has no output, or its last part is a tool call without a result. While
 * no agent span has ended, the result may still come. A workflow is a function of the application: its end is not the end of an agent.
 */
function unfinished(plan: RunPlan, transcript: Transcript): NotScorableReason | null {
  const { blocks, calls } = transcript;
  const halt = findHalt(plan, transcript);
  if (halt === 'cancelled') {
    const detail =
      'the run was cancelled before its answer was whole; a caller that stops a run is no failure';
    return { code: 'run_cancelled', detail };
  }
  const open = openCalls(blocks.at(-1));
  if (halt === 'waiting') {
    return waits(
      open[0] === undefined ? 'a step was interrupted' : `the tool ${open[0].name} was interrupted`,
    );
  }
  if (blocks.length === 0) {
    return { code: 'run_incomplete', detail: 'the recorded spans end without any output' };
  }
  const isOpen = plan.kind === 'calls' || plan.root.orphaned || plan.root.role === 'workflow';
  if (isOpen) {
    const isCalling = readAnswer(transcript) === '' && calls.all.some((call) => call.state === 'call');
    const detail = 'the recorded spans end at a tool call whose result is not in this trace';
    return isCalling ? { code: 'run_incomplete', detail } : null;
  }
  const isSaid = blocks
    .at(-1)
    ?.entries.some((entry) => entry.kind === 'part' && ['text', 'file'].includes(entry.part.type));
  const agents = new Set([...plan.subs.map(({ root }) => root), ...plan.subs.map(({ via }) => via)]);
  const call = isSaid === true ? undefined : open.find((one) => isAwaited(one, agents));
  return call === undefined
    ? null
    : waits(`the tool call ${call.name} has no result (an approval or another program has to give it)`);
}

function waits(why: string): NotScorableReason {
  const detail = `the run waits: ${why}; it is scored when the rest comes in this trace`;
  return { code: 'run_waiting', detail };
}

/** Finds the stop after which the run has not gone on: of its agent, its last call, a tool of the last step, or a step after all calls. */
function findHalt(plan: RunPlan, { blocks }: Transcript): Halt | undefined {
  const last = plan.llms.at(-1);
  const own = plan.kind === 'agent' ? plan.root.facts.halt : undefined;
  const lastEntry = blocks.at(-1)?.entries.at(-1);
  if (own === 'cancelled' && last !== undefined && isWhole(last) && lastEntry?.kind === 'part') {
    return undefined;
  }
  const halts = [
    own,
    last?.facts.halt,
    ...openCalls(blocks.at(-1)).map((call) => call.span?.facts.halt),
    isPausedAfter(plan) ? ('waiting' as const) : undefined,
  ];
  return halts.includes('waiting') ? 'waiting' : halts.find((halt) => halt !== undefined);
}

function isWhole({ facts }: SpanNode): boolean {
  const { halt, error, finishReason = '' } = facts;
  return (halt ?? error) === undefined && finishReason !== '' && !isCutFinish(finishReason);
}

/** Most spans between a run and the step around it that paused. */
const MAX_LEVELS = 64;

/** True when a step of the run, or one around its model calls, paused after all of them had ended. */
function isPausedAfter(plan: RunPlan): boolean {
  const calls = [plan, ...plan.subs].flatMap(({ llms }) => llms);
  const ended = calls.reduce((end, { span }) => (endUnixNano(span) > end ? endUnixNano(span) : end), 0n);
  let node: SpanNode | null = plan.root;
  for (let level = 0; level < MAX_LEVELS && node !== null; level++) {
    if (node.pausedUntil >= ended && node.pausedUntil > 0n) {
      return true;
    }
    node = plan.kind === 'calls' && node.role !== 'agent' && node.role !== 'tool' ? node.parent : null;
  }
  return false;
}

function openCalls(block: Block | undefined): Call[] {
  return (block?.entries ?? []).flatMap((entry) =>
    entry.kind === 'call' && entry.call.state === 'call' ? [entry.call] : [],
  );
}

/** True for a call whose result the agent needs and no tool has run for. A called agent without an answer waits, too. */
function isAwaited({ name, handoff, asked, span }: Call, agents: ReadonlySet<SpanNode | null>): boolean {
  const isOwn = !ANSWER_TOOLS.has(name) && !handoff && asked.providerExecuted !== true;
  return isOwn && (span === undefined || agents.has(span));
}

/** Lists the parts of every input once; thousands of calls may share one input. */
function listParts(nodes: readonly SpanNode[]): NormalPart[] {
  const inputs = new Set(nodes.map(({ facts }) => facts.input ?? []));
  return [
    ...[...inputs].flatMap((messages) => messages.flatMap((message) => message.parts)),
    ...nodes.flatMap(({ facts }) => facts.output ?? []),
  ];
}
