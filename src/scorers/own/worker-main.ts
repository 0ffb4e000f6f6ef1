/**
 * The process of an own scorer. It loads the scorer's module at the host's `load` message, runs it, and ends when the host
 * ends.
 */
import { readdirSync, writeFileSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { deserialize, serialize } from 'node:v8';
import { AppError } from '../../domain/errors.ts';
import type { Scorer, ScorerRunInput, ScorerRunResult } from '../evals/scorer.ts';
import { withJudgeScope } from '../../judge/judge-scope.ts';
import {
  readFrames,
  writeFrame,
  readFault,
  type LoadMessage,
  type RunOrder,
  type ToWorker,
  type DeclaredFacts,
  WORKER_NICE,
  MESSAGE_FD,
  UNCAUGHT,
  WATCH_FD,
} from './messages.ts';
import { endGroup, startWatch } from './watch.ts';
import { registerHooks } from 'node:module';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { canonicalOptions } from '../evals/create-scorer.ts';
import { createTurns, ForwardedJudges, type Tell } from './forwarded-judges.ts';

const PACKAGE = 'spanscore';

const isSource = import.meta.url.endsWith('.ts');

/** Root of the package: source files and build output are at different depths, `src/scorers/own/` and `dist/src/scorers/own/`. */
const root = new URL(isSource ? '../../../' : '../../../../', import.meta.url);

/** Largest result that is sent to the host, bytes. */
const MAX_RESULT_BYTES = 4 * 1024 * 1024;

const channel = new Socket({ fd: MESSAGE_FD, readable: true, writable: true });
const tell: Tell = (message) => new Promise((resolve) => writeFrame(channel, message, resolve));

const lane = createTurns((run) => tell({ type: 'turn', run }));
const running = new Map<number, AbortController>();
const busy = new Int32Array(new SharedArrayBuffer(8));
let loaded: { readonly scorer: Scorer; readonly judges: ForwardedJudges } | undefined;

/** Counts the runs in progress; the watching thread checks more often while there is work. */
function countWork(change: 1 | -1): void {
  Atomics.add(busy, 0, change);
  Atomics.notify(busy, 0);
}

async function load(order: LoadMessage): Promise<void> {
  countWork(1);
  try {
    const { scorer, facts } = await loadModule(order);
    if (facts.judgeModel !== '') {
      // Loaded now, so that the first run does not wait for it.
      await import('../../judge/judge.ts');
    }
    lowerPriority();
    const { judge, defaultJudge } = order;
    loaded = { scorer, judges: new ForwardedJudges({ judge, defaultJudge, lane, tell }) };
    await tell({ type: 'loaded', facts });
  } catch (error) {
    await tell({ type: 'unloadable', message: readFault(error).message });
  }
  countWork(-1);
}

async function runOne({ run, input }: RunOrder): Promise<void> {
  if (loaded === undefined) {
    return;
  }
  const { scorer, judges } = loaded;
  const cancelling = new AbortController();
  running.set(run, cancelling);
  countWork(1);
  await lane.take(run);
  try {
    const result = await withJudgeScope(judges.buildScope(run), async () =>
      scorer.run(deserialize(input) as ScorerRunInput, { abortSignal: cancelling.signal }),
    );
    await tell({ type: 'ended', run, result: packResult(result) });
  } catch (error) {
    await tell({ type: 'ended', run, fault: readFault(error) });
  }
  judges.forget(run);
  running.delete(run);
  countWork(-1);
  lane.release(run);
}

/** Serializes the members of a result that the host reads; a whole result would repeat the run. */
function packResult(result: ScorerRunResult): Uint8Array {
  const packed = result !== null && typeof result === 'object' ? readMembers(result) : result;
  const bytes = serialize(packed);
  if (bytes.length > MAX_RESULT_BYTES) {
    const limit = `${MAX_RESULT_BYTES / 1024 / 1024} MiB`;
    throw new AppError(`its result has ${bytes.length} bytes; at most ${limit} are taken`, {
      code: 'scorer_failed',
      stage: 'judge',
      retryable: false,
    });
  }
  return bytes;
}

function readMembers({ score, reason, label, notScorable, verdicts, scores }: ScorerRunResult) {
  const text = typeof reason === 'string' ? reason : JSON.stringify(reason);
  return { score, reason: text, label, notScorable, verdicts, scores };
}

function onMessage(message: ToWorker): void {
  switch (message.type) {
    case 'load':
      void load(message);
      return;
    case 'runs':
      message.runs.forEach((order) => void runOne(order));
      return;
    case 'cancel':
      running.get(message.run)?.abort();
      return;
    case 'answer':
      void loaded?.judges.answer(message.call, message);
  }
}

/** Sets the priority of each thread: on Linux every thread has its own, and existing threads keep theirs. */
function lowerPriority(): void {
  try {
    setPriority(WORKER_NICE);
    if (process.platform === 'linux') {
      readdirSync('/proc/self/task').forEach((thread) => setPriority(Number(thread), WORKER_NICE));
    }
  } catch (error) {
    console.error('the priority could not be lowered:', error);
  }
}

/** Tells Linux to end this process first when the machine runs out of memory. */
function reportMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Another system, or a system that does not allow this: the default stays.
  }
}

// The host ends this process. A supervisor may send these signals to each process of a service, so they are ignored here.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => undefined);
}
channel.on('error', endGroup).on('close', endGroup);
process.on('uncaughtException', (error) => {
  console.error(`${UNCAUGHT}:`, error);
  process.exit(1);
});
process.on('unhandledRejection', (error) => {
  console.error('a promise was rejected and nobody handled it:', error);
});
reportMemory();
startWatch({ memoryBytes: Number(process.argv[2]), fd: WATCH_FD, busy });
resolveOwnPackage();
readFrames(channel, {
  maxBytes: Number.POSITIVE_INFINITY,
  onMessage: (message) => onMessage(message as ToWorker),
  onGarbage: endGroup,
});

/**
 * Resolves every import of `spanscore` in this process to the running package, even when the importing file has no copy beside
 * it. A second copy would not know the judges of this process.
 */
function resolveOwnPackage(): void {
  const entries = readEntries();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isOwn = specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`);
      const url = isOwn ? entries.get(`.${specifier.slice(PACKAGE.length)}`) : undefined;
      return url === undefined
        ? nextResolve(specifier, context)
        : {
            url,
            format: url.endsWith('.json') ? 'json' : isSource ? 'module-typescript' : 'module',
            shortCircuit: true,
          };
    },
  });
}

/** Reads the file of every entry point from the package's `exports`. */
function readEntries(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  return new Map(
    Object.entries(exports).map(([name, entry]) => {
      const built = typeof entry === 'string' ? entry : entry.default;
      const file = isSource ? built.replace('./dist/', './').replace(/\.js$/, '.ts') : built;
      return [name, new URL(file, root).href];
    }),
  );
}

/** The scorer of a module and the facts that it declares. */
interface LoadedModule {
  readonly scorer: Scorer;
  readonly facts: DeclaredFacts;
}

/** Loads the default export of a module. Throws an `Error` with a sentence for people. */
async function loadModule(order: LoadMessage): Promise<LoadedModule> {
  const { path } = order;
  const moduleHash = createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
  const module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  const scorer = module.default;
  if (
    scorer === null ||
    typeof scorer !== 'object' ||
    !('run' in scorer) ||
    typeof scorer.run !== 'function'
  ) {
    throw new Error(`the default export of ${path} must be a scorer: an object with run()`);
  }
  const own = scorer as Scorer;
  return { scorer: own, facts: { ...buildFacts(own, order), id: findId(scorer, order), moduleHash } };
}

/** Returns the id of a scorer; for one without an id, its name in the configuration. */
function findId(scorer: object, { name, path }: LoadMessage): string {
  const { id = name } = scorer as { readonly id?: unknown };
  if (typeof id !== 'string' || id === '') {
    throw new Error(`the id of the scorer of ${path} must be a text that is not empty; or leave it out`);
  }
  return id;
}

type Facts = Omit<DeclaredFacts, 'id' | 'moduleHash'>;

/** Reads the members of `ScorerMetadata` that a scorer declares, as plain data. */
function buildFacts(scorer: Scorer, order: LoadMessage): Facts {
  const judgeModel = findJudgeModel(scorer, order);
  const declared = {
    name: scorer.name,
    description: scorer.description,
    higherIsBetter: scorer.higherIsBetter,
    range: scorer.range,
    labels: scorer.labels,
    version: scorer.version,
    promptVersion: scorer.promptVersion,
    judgeModel,
  };
  const plain = JSON.parse(JSON.stringify(declared)) as Partial<Facts>;
  return { ...plain, options: canonicalOptions(scorer.options ?? null) };
}

/** Finds the judge model: the judge of the configuration entry, else the one that the scorer names, else the default judge. */
function findJudgeModel(scorer: Scorer, { judge, defaultJudge, path }: LoadMessage): string | undefined {
  if (!asksJudge(scorer)) {
    return scorer.judgeModel;
  }
  const model = judge ?? (scorer.judgeModel || defaultJudge);
  if (model === undefined) {
    throw new Error(
      `the scorer of ${path} asks a judge and none is set: write the entry's judge, or judges.default`,
    );
  }
  return model;
}

/** True for a scorer that was created with our `createScorer` and has a prompt step, or that declares a judge. */
function asksJudge(scorer: Scorer): boolean {
  if (typeof scorer.judgeModel !== 'string') {
    return false;
  }
  const { getSteps } = scorer as { getSteps?: () => readonly { type: string }[] };
  return scorer.judgeModel !== '' || (getSteps?.().some((step) => step.type === 'prompt') ?? false);
}
