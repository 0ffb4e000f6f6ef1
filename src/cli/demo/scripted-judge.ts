import { allBegin, formatPart } from '../../domain/plural.ts';

/** Reads the material of a scorer's question, the JSON document between the two marker lines; undefined for any other text. */
function readMaterial(prompt: string): Record<string, unknown> | undefined {
  const [, , json = ''] = /^<<<([a-p]+)\n([^\n]*)\n\1>>>\n/.exec(prompt.trim()) ?? [];
  const value: unknown = json === '' ? undefined : JSON.parse(json);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

/**
 * Answers the questions of the hallucination and faithfulness scorers without a model: a claim is backed when the context
 * has its numbers and distinctive words. Returns undefined for any other question.
 */
export function answerAsJudge(prompt: string): string | undefined {
  const material = readMaterial(prompt);
  if (material === undefined) {
    return undefined;
  }
  if (typeof material['answer'] === 'string') {
    return JSON.stringify({ claims: listClaims(material['answer']) });
  }
  const { claims, ...evidence } = material;
  if (typeof claims === 'object' && claims !== null) {
    const context = Object.entries(evidence)
      .filter(([kind]) => kind !== 'user' && kind !== 'operator')
      .flatMap(([, texts]) => Object.values(texts as object).map(String));
    const verdicts = Object.entries(claims).map(([n, claim]) =>
      buildVerdict({ n: Number(n), claim: String(claim) }, context),
    );
    return JSON.stringify({ verdicts });
  }
  if (Array.isArray(material['findings'])) {
    return explain(material['findings'] as Finding[]);
  }
  return undefined;
}

interface NumberedClaim {
  readonly n: number;
  readonly claim: string;
}

interface Finding {
  readonly claim: string;
  readonly verdict: string;
  readonly reason?: string;
}

/** Returns sentences that state something: no questions, no greetings. */
function listClaims(answer: string): string[] {
  const sentences = [...new Intl.Segmenter('en', { granularity: 'sentence' }).segment(answer)];
  return sentences
    .map(({ segment }) => segment.trim())
    .filter((sentence) => sentence.endsWith('.') && !sentence.startsWith('I '));
}

/** Words that say nothing about the weather. */
const PLAIN_WORDS = new Set(['brings', 'blows', 'needed', 'which', 'with', 'there', 'umbrella']);

function buildVerdict({ n, claim }: NumberedClaim, context: readonly string[]) {
  const missing = missingFrom(context.join('\n').toLowerCase(), claim);
  const backed = missing.length === 0;
  return {
    n,
    verdict: backed ? 'supported' : 'contradicted',
    reason: backed ? 'The context states it.' : `The context does not hold: ${missing.join(', ')}.`,
    quote: context[0] ?? '',
  };
}

/** Returns the numbers and distinctive words of a claim that the context does not have. */
function missingFrom(context: string, claim: string): string[] {
  const admitsFailure = /unavailable|unknown|failed/.test(claim) && context.includes('failed:');
  if (admitsFailure) {
    return [];
  }
  const numbers = claim.match(/\d+(?:\.\d+)?/g) ?? [];
  const known = new Set(context.match(/\d+(?:\.\d+)?/g) ?? []);
  const words = (claim.toLowerCase().match(/\p{L}{4,}/gu) ?? []).filter((word) => !PLAIN_WORDS.has(word));
  return [
    ...numbers.filter((number) => !known.has(number)),
    ...words.filter((word) => !context.includes(word)),
  ];
}

function explain(findings: readonly Finding[]): string {
  const faults = findings.filter(({ verdict }) => verdict !== 'supported');
  if (faults.length === 0) {
    return `${allBegin(findings.length, 'claim', ['stands', 'stand'])} in the context.`;
  }
  const named = faults.map(({ claim, reason }) => `"${claim}" (${reason ?? 'not in the context'})`);
  return `${formatPart(faults.length, findings.length, 'claim')} ${faults.length === 1 ? 'does' : 'do'} not hold: ${named.join('; ')}`;
}
