import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { hashValue } from '../../domain/identity.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';

/**
 * Computes the hash of the content that scorers see of a run: messages, context, documents, tools, outcome. Message ids and times are
 * left out: a root span that arrives late changes them, but not the content.
 */
export function computeEvidenceHash(run: AgentRun): string {
  let hash = hashes.get(run);
  if (hash === undefined) {
    hash = hashEvidence(run);
    hashes.set(run, hash);
  }
  return hash;
}

/** Computes the hash of the evidence with what the run took: later spans may change its times and its tokens alone. */
export function computeTotalsHash(run: AgentRun): string {
  return hashValue([computeEvidenceHash(run), run.usage, run.startedAt, run.endedAt]);
}

/** Hashes by run: a run of fifty thousand tool calls takes seconds to hash, and every rule needs the hash. */
const hashes = new WeakMap<AgentRun, string>();

function hashEvidence(run: AgentRun): string {
  return hashValue({
    input: {
      inputMessages: run.input.inputMessages.map(readEvidence),
      rememberedMessages: run.input.rememberedMessages.map(readEvidence),
      systemMessages: run.input.systemMessages,
      taggedSystemMessages: run.input.taggedSystemMessages,
    },
    output: run.output.map(readEvidence),
    context: run.context,
    documents: run.documents,
    ...(run.tools === undefined ? {} : { tools: run.tools }),
    status: run.status,
    error: run.error,
    notScorable: run.notScorable?.code ?? null,
  });
}

function readEvidence(message: AgentMessage) {
  return { role: message.role, type: message.type, content: message.content };
}
