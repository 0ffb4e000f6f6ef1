import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { startModelServer } from '../model-server.ts';
import { mapWide, storedReadings, type PeerAddresses, type PeerResult } from '../peer-run.ts';
import { THE_STORY, toldStories, type ToldStory } from '../told-story.ts';
import { type PythonPeer, runPythonPeer } from './python-peer.ts';

/** Most of it is for the first time, when the packages are fetched. */
const TIMEOUT_MS = 40 * 60_000;
const WIDTH = 2;
/** The end of a Python traceback is what tells. */
const MOST_OUTPUT = 2000;

interface Peer extends PythonPeer {
  /** Setting that is on, in a user's words. */
  readonly how: string;
}

/** Differences of the reading from the story, where the emitter does not send a fact or words it otherwise. */
interface TellingPeer extends Peer {
  readonly told: { readonly [Key in keyof ToldStory]?: unknown };
}

const PYDANTIC = { packages: 'pydantic-ai', agent: 'pydantic_ai_agent.py' };
const LANGGRAPH = { packages: 'langgraph', agent: 'langgraph_agent.py' };
const ADK = { packages: 'google-adk', agent: 'google_adk_agent.py' };
const CREWAI = { packages: 'crewai', agent: 'crewai_agent.py' };
const AGENTS = { agent: 'openai_agents_agent.py' };
const ADK_CONTENT = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT';

/** ADK adds to the system prompt, and names the model as it was asked for. */
const ADK_TOLD = {
  system: expect.stringMatching(/^You are a weather assistant\.\n/),
  models: ['openai/gpt-4o-mini'],
};

const TELLING: readonly TellingPeer[] = [
  { ...PYDANTIC, how: 'pydantic-ai-v2', variables: { FORMAT: '2' }, told: { user: null } },
  { ...PYDANTIC, how: 'pydantic-ai-v5', variables: { FORMAT: '5' }, told: { user: null } },
  { ...PYDANTIC, how: 'pydantic-ai-v6', variables: { FORMAT: '6' }, told: { user: null } },
  { ...LANGGRAPH, how: 'langgraph-create-agent', told: {} },
  { ...LANGGRAPH, how: 'langgraph-own-graph', variables: { GRAPH: 'own' }, told: {} },
  { ...ADK, how: 'google-adk-logs', variables: { [ADK_CONTENT]: 'true' }, told: ADK_TOLD },
  {
    ...ADK,
    how: 'google-adk-spans-and-logs',
    variables: {
      OTEL_SEMCONV_STABILITY_OPT_IN: 'gen_ai_latest_experimental',
      [ADK_CONTENT]: 'SPAN_AND_EVENT',
    },
    told: ADK_TOLD,
  },
  {
    ...CREWAI,
    how: 'crewai',
    // A crew takes no history, and words the system prompt around the backstory.
    told: { history: [], system: expect.stringContaining(THE_STORY.system) },
  },
  {
    ...AGENTS,
    packages: 'openllmetry-openai-agents',
    how: 'openai-agents-openllmetry',
    variables: { INSTRUMENTATION: 'openllmetry' },
    told: { session: null, user: null },
  },
  {
    ...AGENTS,
    packages: 'otel-openai-agents',
    how: 'openai-agents-opentelemetry',
    variables: { INSTRUMENTATION: 'otel' },
    // It sends no instructions, no session and no user.
    told: { system: '', session: null, user: null },
  },
];

const SILENT: readonly (Peer & { readonly switch: RegExp })[] = [
  {
    ...PYDANTIC,
    how: 'pydantic-ai-no-content',
    variables: { FORMAT: '5', CONTENT: 'off' },
    switch: /include_content/,
  },
  { ...ADK, how: 'google-adk-default', switch: /OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT/ },
];

const PEERS: readonly Peer[] = [...TELLING, ...SILENT];
const results = new Map<string, PeerResult | { missing: string }>();
let readings = new Map<string, TraceReading[]>();

/** Runs an agent to its end; where this machine lacks what it needs, says so in a line that cannot be overlooked. */
async function playPeer(peer: Peer, addresses: PeerAddresses, home: string): Promise<void> {
  const result = await runPythonPeer(peer.how, peer, addresses, home);
  if ('missing' in result) {
    tellNotProved(`the Python peer ${peer.how}`, result.missing);
  }
  results.set(peer.how, result);
}

const folder = new ServeFolder();

beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), 'spanscore-peers-'));
  const model = await startModelServer();
  try {
    const { otlpHttp } = await folder.start();
    await mapWide(PEERS, WIDTH, (peer) => playPeer(peer, { modelUrl: model.url, otlpHttp }, home));
    if ([...results.values()].some((result) => 'code' in result)) {
      readings = await storedReadings(folder);
    }
  } finally {
    await model.close();
    rmSync(home, { recursive: true, force: true });
  }
}, TIMEOUT_MS);

afterAll(() => folder.dispose());

/** Readings of a peer that ended well. */
function listReadings(peer: Peer, skip: (note: string) => never): TraceReading[] {
  const result = results.get(peer.how);
  if (result !== undefined && 'missing' in result) {
    return skip(result.missing);
  }
  if (result?.code !== 0) {
    throw new Error(`${peer.agent} ended with ${result?.code}: …${result?.output.slice(-MOST_OUTPUT)}`);
  }
  return readings.get(peer.how) ?? [];
}

describe('a real Python agent that sends to a running serve', () => {
  it.for(TELLING)('$how is read as the one story', (peer, { skip }) => {
    expect(toldStories(listReadings(peer, skip))).toEqual([{ ...THE_STORY, ...peer.told }]);
  });

  it.for(SILENT)('$how cannot be scored, and the switch is named', (peer, { skip }) => {
    const runs = listReadings(peer, skip).flatMap((reading) => reading.runs);

    expect(runs.map((run) => run.notScorable)).toEqual([
      { code: 'no_content_captured', detail: expect.stringMatching(peer.switch) },
    ]);
  });
});
