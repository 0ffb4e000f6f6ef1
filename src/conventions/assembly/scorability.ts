import type { NotScorableReason } from '../../domain/trace/agent-run.ts';
import type { ContentField, Hidden, NormalPart, SpanFacts } from '../normalised-span.ts';
import { contentAdvice } from '../advice/content-switches.ts';
import { findError, memberNodes } from './run-fields.ts';
import type { RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import { readAnswer, type Transcript } from './transcript.ts';

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
  return incomplete(plan, transcript);
}

/** Finds how content is hidden, in one field or in any. */
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
 * Finds an incomplete run: it has no output, or its last part is a tool call without a result while no agent span has ended. A workflow is a
 * function of the application: its end is not the end of an agent.
 */
function incomplete(plan: RunPlan, transcript: Transcript): NotScorableReason | null {
  const noAnswer = readAnswer(transcript) === '';
  const waiting = transcript.calls.all.some((call) => call.state === 'call');
  const isOpen = plan.kind === 'calls' || plan.root.orphaned || plan.root.role === 'workflow';
  if (transcript.blocks.length === 0 || (noAnswer && waiting && isOpen)) {
    const what =
      transcript.blocks.length === 0
        ? 'without any output'
        : 'at a tool call whose result is not in this trace';
    return { code: 'run_incomplete', detail: `the recorded spans end ${what}` };
  }
  return null;
}

/** Lists the parts of every input once; thousands of calls may share one input. */
function listParts(nodes: readonly SpanNode[]): NormalPart[] {
  const inputs = new Set(nodes.map(({ facts }) => facts.input ?? []));
  return [
    ...[...inputs].flatMap((messages) => messages.flatMap((message) => message.parts)),
    ...nodes.flatMap(({ facts }) => facts.output ?? []),
  ];
}
