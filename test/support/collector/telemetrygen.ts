import { spawn } from 'node:child_process';

// OpenTelemetry's own generator of spans, a client with the real Go SDK. Its pinned module is in test/peers/collector/telemetrygen.

/** Longest wait for an acknowledgement, over all repeats of a request: the limit of the SDK's own queue. */
const ACKNOWLEDGED_WITHIN = '30s';

/** Traces that telemetrygen sends. */
export interface TelemetrygenLoad {
  /** `host:port` of OTLP over gRPC. */
  readonly endpoint: string;
  readonly service: string;
  readonly traces: number;
  /** Number of spans below the root of each trace. */
  readonly childSpans: number;
  readonly spansPerSecond: number;
}

/** End of a load. */
interface TelemetrygenReport {
  readonly code: number | null;
  /** Number of traces that it made. All their spans were acknowledged, unless an export failed. */
  readonly traces: number;
  /** Messages of its SDK about spans that were never acknowledged; the exit code does not tell. */
  readonly failedExports: readonly string[];
}

/** A running telemetrygen. */
export interface Telemetrygen {
  isRunning(): boolean;
  /** Waits for its end. */
  finish(): Promise<TelemetrygenReport>;
  /** Sends SIGKILL, and waits for the end. */
  kill(): Promise<void>;
}

/** Starts a load. Over gRPC, the SDK repeats a request that is not acknowledged, also after a refused connection. */
export function startTelemetrygen(binary: string, load: TelemetrygenLoad): Telemetrygen {
  const child = spawn(
    binary,
    [
      'traces',
      '--otlp-insecure',
      `--otlp-endpoint=${load.endpoint}`,
      `--service=${load.service}`,
      `--traces=${load.traces}`,
      `--child-spans=${load.childSpans}`,
      `--rate=${load.spansPerSecond}`,
      `--timeout=${ACKNOWLEDGED_WITHIN}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // Ends the process when the test run is aborted.
  const killChild = () => void child.kill('SIGKILL');
  process.once('exit', killChild);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      process.off('exit', killChild);
      resolve(code);
    });
  });
  return {
    isRunning: () => child.exitCode === null && child.signalCode === null,
    finish: async () => {
      const code = await ended;
      return { code, ...readReport(log) };
    },
    kill: async () => {
      killChild();
      await ended;
    },
  };
}

function readReport(log: string): Omit<TelemetrygenReport, 'code'> {
  const generated = /traces generated\s+\{.*"traces": (\d+)\}/.exec(log);
  if (generated === null) {
    throw new Error(`telemetrygen does not say how many traces it made: ${log.slice(-2_000)}`);
  }
  return { traces: Number(generated[1]), failedExports: log.match(/^.*traces export: .*$/gm) ?? [] };
}
