import { fileURLToPath } from 'node:url';
import { type PeerAddresses, type PeerResult, runPeer } from '../peer-run.ts';
import { PYTHON_CODE_CACHE, pythonVenv } from './python-venv.ts';

/** Importing LiteLLM alone takes ten seconds of a core. */
const AGENT_TIMEOUT_MS = 300_000;

/** A Python agent under one instrumentation. */
export interface PythonPeer {
  /** Name of its packages: `requirements/<packages>.txt`. */
  readonly packages: string;
  /** Script in `agents`. */
  readonly agent: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** The frameworks' reports to their makers switched off, and a home that is thrown away. */
function buildVariables({ variables }: PythonPeer, home: string): Record<string, string> {
  return {
    HOME: home,
    PYTHONUTF8: '1',
    PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE,
    CREWAI_DISABLE_TELEMETRY: 'true',
    CREWAI_DISABLE_VERSION_CHECK: 'true',
    CREWAI_TRACING_ENABLED: 'false',
    LANGSMITH_TRACING: 'false',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    ...variables,
  };
}

/** Runs an agent to its end as the service `name`, or says what this machine lacks for it. */
export async function runPythonPeer(
  name: string,
  peer: PythonPeer,
  addresses: PeerAddresses,
  home: string,
): Promise<PeerResult | { missing: string }> {
  const venv = await pythonVenv(peer.packages);
  if ('missing' in venv) {
    return venv;
  }
  const script = fileURLToPath(new URL(`agents/${peer.agent}`, import.meta.url));
  const options = { variables: buildVariables(peer, home), timeoutMs: AGENT_TIMEOUT_MS };
  return runPeer(name, venv.python, [script], addresses, options);
}
