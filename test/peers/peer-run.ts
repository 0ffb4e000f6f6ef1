import { spawn } from 'node:child_process';
import type { TraceReading } from '../../src/domain/trace/agent-run.ts';
import { jsonLines } from '../support/processes/cli.ts';
import { runCommand } from '../support/processes/run-command.ts';
import type { ServeFolder } from '../support/processes/serve-process.ts';

/** Time limit of an agent, milliseconds; it needs a second or two on an idle machine. */
const AGENT_TIMEOUT_MS = 90_000;

/** Addresses of an agent's model and telemetry. */
export interface PeerAddresses {
  readonly modelUrl: string;
  readonly otlpHttp: string;
}

export interface PeerOptions {
  readonly variables?: Readonly<Record<string, string>>;
  /** Default: `AGENT_TIMEOUT_MS`. */
  readonly timeoutMs?: number;
}

/** End of a program. */
export interface PeerResult {
  readonly name: string;
  /** Null when it was killed, because it took too long. */
  readonly code: number | null;
  readonly output: string;
}

/** Runs one agent as a process of its own, which sends its telemetry as the service `name`, and waits for its end. */
export function runPeer(
  name: string,
  command: string,
  args: readonly string[],
  { modelUrl, otlpHttp }: PeerAddresses,
  { variables = {}, timeoutMs = AGENT_TIMEOUT_MS }: PeerOptions = {},
): Promise<PeerResult> {
  const inherited = Object.entries(process.env).filter(
    ([key]) =>
      !/^(SPANSCORE_|OTEL_|OPENAI_|ANTHROPIC_|CLAUDE|GEMINI_|GOOGLE_|AWS_|LANGFUSE_|LANGSMITH_|LANGCHAIN_|GENKIT_|NODE_)/.test(
        key,
      ),
  );
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    env: {
      ...Object.fromEntries(inherited),
      MODEL_URL: modelUrl,
      OTEL_EXPORTER_OTLP_ENDPOINT: otlpHttp,
      OTEL_SERVICE_NAME: name,
      ...variables,
    },
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ name, code, output }));
  });
}

/** Runs `work` over `items`, `width` at a time; the results keep the order of the items. */
export async function mapWide<Item, Result>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) {
      results[index] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return results;
}

/** Readings of a running `serve`'s store, read as `inspect` does, by service. */
export async function storedReadings(folder: ServeFolder): Promise<Map<string, TraceReading[]>> {
  const listed = await runToEnd(folder, ['traces', '--limit', '500', '--json']);
  const traces = jsonLines(listed) as { traceId: string; services: string[] }[];
  const ids = traces.map(({ traceId }) => traceId);
  const inspected = ids.length === 0 ? '' : await runToEnd(folder, ['inspect', '--json', ...ids]);
  const readings = jsonLines(inspected) as TraceReading[];
  const byService = new Map<string, TraceReading[]>();
  for (const { traceId, services } of traces) {
    const service = services[0] ?? '';
    const found = readings.filter((reading) => reading.traceId === traceId);
    byService.set(service, [...(byService.get(service) ?? []), ...found]);
  }
  return byService;
}

async function runToEnd(folder: ServeFolder, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path });
  if (code !== 0) {
    throw new Error(
      `spanscore ${args[0]} ended with ${code}: ${stderr}\nserve said: ${folder.output.slice(-2000)}`,
    );
  }
  return stdout;
}
