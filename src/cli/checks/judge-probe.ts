import type { Config } from '../../configuration.ts';
import { judgesInUse } from '../../config/checks/judge-checks.ts';
import type { JudgeExecution } from '../../judge/judge.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { readErrorMessage } from '../../domain/errors.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import { redactText } from '../../telemetry/redact-fields.ts';
import type { CheckResult } from './check-result.ts';

/** Time limit of one judge call, milliseconds. */
const LIMIT_MS = 60_000;

/** Claims with what shows whether they hold. */
const KNOWN = [
  { claim: '18 °C', evidence: { tempC: 18 }, verdict: 'yes' },
  { claim: 'snow', evidence: { sky: 'rain' }, verdict: 'no' },
] as const;

const VERDICT = {
  type: 'object',
  properties: { verdict: { type: 'string', enum: ['yes', 'no'] } },
  required: ['verdict'],
  additionalProperties: false,
};

/**
 * Asks two questions whose answers are known to each judge that a rule uses and to the default judge, as scorers ask. Each call costs a
 * few tokens.
 */
export async function probeJudges(config: Config): Promise<CheckResult[]> {
  const { default: byDefault } = config.judges;
  const names = new Set([
    ...judgesInUse(config, PREBUILT_SCORERS),
    ...(byDefault === undefined ? [] : [byDefault]),
  ]);
  if (names.size === 0) {
    const detail = 'no judge is configured; to set one: SPANSCORE_JUDGE=openai/gpt-5-mini';
    return [{ check: 'judge', status: 'ok', detail }];
  }
  return Promise.all([...names].map(async (name) => probe(name, config)));
}

async function probe(name: string, config: Config): Promise<CheckResult> {
  const { askForObject } = await import('../../judge/judge.ts');
  const { createConfiguredJudges } = await import('../../scoring/setup/scorer-kit.ts');
  const { withJudgeScope } = await import('../../judge/judge-scope.ts');
  const check = `judge ${name}`;
  const settings = { maxRetries: 0, timeoutMs: LIMIT_MS, redaction: false };
  const ask = ({ claim, evidence }: (typeof KNOWN)[number]) =>
    askForObject<{ verdict: string }>(name, {
      instructions: 'You judge claims by evidence.',
      prompt: JSON.stringify({ evidence, claim }),
      task: 'Does the evidence support the claim? verdict: yes or no.',
      schema: { jsonSchema: VERDICT },
      settings,
    });
  try {
    return await withJudgeScope({ judges: createConfiguredJudges(config) }, async () => {
      const [first, second] = KNOWN;
      const answers = [await ask(first), await ask(second)];
      const right = answers.filter(({ value }, index) => value.verdict === KNOWN[index]?.verdict).length;
      const detail = redactText(describe(answers.map(({ execution }) => execution)));
      return right === KNOWN.length
        ? { check, status: 'ok', detail: `${detail}, ${right} of ${KNOWN.length} known answers right` }
        : {
            check,
            status: 'failed',
            detail: `answers in the right form but judges wrong: ${KNOWN.length - right} of ${KNOWN.length}; ${detail}`,
            fix: 'use a larger model: the scores of this one would mean nothing',
          };
    });
  } catch (error) {
    return {
      check,
      status: 'failed',
      detail: redactText(readErrorMessage(error)),
      fix: readFix(error, name),
    };
  }
}

function describe(executions: readonly JudgeExecution[]): string {
  const sum = (read: (execution: JudgeExecution) => number | undefined): number | undefined =>
    executions.reduce<number | undefined>((total, execution) => {
      const value = read(execution);
      return total === undefined || value === undefined ? undefined : total + value;
    }, 0);
  const tokens = executions.every(({ usage }) => usage === undefined)
    ? 'its replies have no token counts, so budgets use estimates'
    : `${sum(({ usage }) => usage?.inputTokens) ?? '?'} tokens in, ${sum(({ usage }) => usage?.outputTokens) ?? '?'} out`;
  const cost = sum((execution) => execution.cost);
  const price = cost === undefined ? 'no known price' : `${showUsd(cost)} USD`;
  const durationMs = Math.round(sum((execution) => execution.durationMs) ?? 0);
  return `model ${executions[0]?.judgeModelId} answered twice in ${durationMs} ms, ${tokens}, ${price}`;
}

function readFix(error: unknown, judge: string): string {
  const provider = `judges.providers.${judge.split('/')[0] ?? ''}`;
  switch (error instanceof Error && 'code' in error ? error.code : '') {
    case 'judge_unauthorised':
      return `set ${provider}.apiKey${judge.startsWith('openai/') ? ' (or OPENAI_API_KEY)' : ''}, and check that the account has credit`;
    case 'judge_rate_limited':
      return `wait, or set ${provider}.requestsPerMinute below what the provider allows`;
    case 'judge_misconfigured':
      return `check ${provider}.baseURL (it must end in /v1) and the name of the model`;
    case 'judge_window':
      return `give the model a larger window (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c), and set judges.options.${judge}.contextTokens to its size`;
    case 'judge_timeout':
      return `check whether the server at ${provider}.baseURL is overloaded or still loads the model`;
    case 'judge_malformed':
      return 'use a model that keeps to a JSON form: a scorer cannot use such replies';
    default:
      return `check ${provider}.baseURL, and that this server runs and supports OpenAI chat completions`;
  }
}
