import { createHash } from 'node:crypto';
import { cutText } from '../../domain/cut-text.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { Attributes, Span } from '../../domain/trace/span.ts';

/** Most characters of a value. */
const MAX_CHARS = 200;

/** Characters of a question whose language is judged. */
const READ_CHARS = 2_000;

/** Attributes with the version of a prompt, as SDKs of prompt stores send it. */
const PROMPT_VERSIONS = [
  'gen_ai.prompt.version',
  'langfuse.observation.prompt.version',
  'llm.prompt_template.version',
  'traceloop.prompt.version',
  'prompt.version',
];

/** Attributes whose value says that a span is a search. */
const SPAN_KINDS = [
  'openinference.span.kind',
  'gen_ai.operation.name',
  'traceloop.span.kind',
  'langfuse.observation.type',
  'mlflow.spanType',
];

/** Names of lengths of a question, by the number of characters from which the next one begins. */
const LENGTHS = [
  [80, 'short'],
  [400, 'medium'],
  [2_000, 'long'],
  [Number.POSITIVE_INFINITY, 'very long'],
] as const;

/** Languages with a script of their own; Japanese comes before Chinese, whose signs it shares. */
const SCRIPTS = [
  ['ja', /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ['zh', /\p{Script=Han}/u],
  ['ko', /\p{Script=Hangul}/u],
  ['uk', /[іїєґ]/iu],
  ['ru', /\p{Script=Cyrillic}/u],
  ['ar', /\p{Script=Arabic}/u],
  ['he', /\p{Script=Hebrew}/u],
  ['el', /\p{Script=Greek}/u],
  ['hi', /\p{Script=Devanagari}/u],
  ['th', /\p{Script=Thai}/u],
] as const;

/** Frequent words of languages in Latin script. */
const WORDS = Object.entries({
  en: 'the is are of and to in what how my i you for do does can please with this it',
  de: 'der die das ist und ich zu wie was mein nicht ein eine für mit auf den kann bitte es',
  fr: 'le la les est et je de des un une pour que quel comment mon ma pas avec vous du',
  es: 'el la los es y de que un una para cómo qué mi por con no en cuál puedo del',
  pt: 'o os é e de que um uma para como meu minha não por com em qual posso do da',
  it: 'il la è e di che un una per come mio mia non con in qual posso del della sono',
  nl: 'de het is en ik een van voor hoe wat mijn niet met op dat kan dit te zijn',
}).map(([language, words]) => [language, new Set(words.split(' '))] as const);

/**
 * Describes a run by what may explain its scores, beside its columns: version of the prompt, length and language of the question, the
 * stores that it searched, and the attributes that rules of monitors name. Alternates between name and value; leaves empty values out.
 * @param spans of its trace; none for a session
 */
export function describeRun(run: AgentRun, spans: readonly Span[], named: readonly string[]): string[] {
  const question = readQuestion(run);
  const known: Readonly<Record<string, string>> = {
    promptVersion: findAttribute(spans, PROMPT_VERSIONS) || hashInstructions(run),
    questionLength: question === '' ? '' : (LENGTHS.find(([below]) => question.length < below)?.[1] ?? ''),
    language: findLanguage(question.slice(0, READ_CHARS)),
    retriever: listRetrievers(spans),
    ...Object.fromEntries(named.map((name) => [name, findAttribute(spans, [name])])),
  };
  return Object.entries(known).flatMap(([name, value]) =>
    value === '' ? [] : [name, cutText(value, MAX_CHARS)],
  );
}

/** Reads the last question of the user. */
function readQuestion({ input }: AgentRun): string {
  const asked = input.inputMessages.findLast(({ role }) => role === 'user')?.content;
  return (
    asked?.content ??
    asked?.parts.map((part) => (part.type === 'text' && 'text' in part ? part.text : '')).join(' ') ??
    ''
  ).trim();
}

/** Hashes the instructions of the model; numbers are left out, so that a date in them makes no new version. */
function hashInstructions({ input: { systemMessages } }: AgentRun): string {
  const texts = systemMessages.map(({ content }) =>
    typeof content === 'string' ? content : content.map(({ text }) => text).join('\n'),
  );
  const text = texts.join('\n').replaceAll(/\d+/gu, '0').trim();
  return text === '' ? '' : createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** Finds the first of these attributes, of a span or else of its resource; the root span comes first. */
function findAttribute(spans: readonly Span[], names: readonly string[]): string {
  const rootFirst = spans.toSorted((a, b) => Number(a.parentSpanId !== '') - Number(b.parentSpanId !== ''));
  const read = (source: Attributes) => names.map((name) => source.get(name)).find((value) => value);
  for (const pick of [(span: Span) => span.attributes, (span: Span) => span.resourceAttributes]) {
    for (const span of rootFirst) {
      const value = read(pick(span));
      if (value !== undefined) {
        return value;
      }
    }
  }
  return '';
}

function listRetrievers(spans: readonly Span[]): string {
  const names = spans
    .filter(({ attributes }) => SPAN_KINDS.some((key) => /retriev/iu.test(attributes.get(key) ?? '')))
    .map(({ attributes, name }) => attributes.get('gen_ai.data_source.id') || name);
  return [...new Set(names)].sort().join(', ');
}

/** Guesses the language of a text: by its script, else by its most frequent words; '' where two languages have as many. */
function findLanguage(text: string): string {
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const foreign = text.match(/[\p{L}--\p{Script=Latin}]/gv)?.length ?? 0;
  if (foreign * 2 > letters) {
    return SCRIPTS.find(([, script]) => script.test(text))?.[0] ?? '';
  }
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  const counts = WORDS.map(
    ([language, known]) => [language, words.filter((word) => known.has(word)).length] as const,
  );
  const [first, second] = counts.toSorted(([, a], [, b]) => b - a);
  return first !== undefined && first[1] > (second?.[1] ?? 0) ? first[0] : '';
}
