import {
  judgeFaults,
  type JudgeScript,
  type JudgeServer,
  type JudgeServerRequest,
  type ScriptedReply,
  startJudgeServer,
} from '../fakes/judge-server.ts';
import { verdictJudge } from '../fakes/verdict-judge.ts';
import type { RecordedCall } from './fleet-record.ts';
import { findNumber } from './numbered-traces.ts';

const USUAL_MS = 100;
const SLOW_MS = 1_000;

export type JudgeMode = 'ok' | 'slow' | '429' | '503' | '404' | 'lies';

const FAULTS: Partial<Record<JudgeMode, () => ScriptedReply>> = {
  '429': () => judgeFaults.rateLimited('1'),
  '503': () => judgeFaults.serverError(503),
  '404': judgeFaults.notFound,
  lies: judgeFaults.wrongSchema,
};

/** Judge whose calls are recorded by process, trace and question. */
export class RecordingJudge {
  readonly calls: RecordedCall[] = [];
  mode: JudgeMode = 'ok';
  readonly #script: JudgeScript;
  #server: JudgeServer | undefined;

  /** @param script computes the replies while there is no fault */
  constructor(script: JudgeScript = verdictJudge) {
    this.#script = script;
  }

  async start(): Promise<void> {
    this.#server = await startJudgeServer((request) => this.#answer(request));
  }

  async stop(): Promise<void> {
    await this.#server?.close();
  }

  /** Returns the base URL for the configuration of a process. The calls of the process are recorded under this name. */
  baseUrl(process: string): string {
    return (this.#server?.baseUrl ?? '').replace('/v1', `/${process}/v1`);
  }

  async #answer(request: JudgeServerRequest): Promise<ScriptedReply> {
    const { model, messages } = request.body;
    const { mode } = this;
    const fault = FAULTS[mode]?.();
    const delayMs = mode === 'slow' ? SLOW_MS : USUAL_MS;
    const startedMs = Date.now();
    this.calls.push({
      process: request.path.split('/')[1] ?? '',
      question: JSON.stringify([model, messages]),
      subject: `trace ${findNumber(JSON.stringify(messages)) ?? 'unknown'} by ${model}`,
      startedMs,
      answeredMs: startedMs + delayMs,
      isUsable: fault === undefined,
    });
    const reply = fault ?? (await this.#script(request));
    return reply.kind === 'text' ? { ...reply, delayMs } : reply;
  }
}
