import { describe, expect, it } from 'vitest';
import {
  contentAdvice,
  CONTENT_SWITCHES,
  findContentSwitch,
} from '../../../src/conventions/advice/content-switches.ts';
import { decodeTraces, readTraces } from '../../../src/conventions/index.ts';
import { normaliseTrace } from '../../../src/conventions/normalise-trace.ts';
import { CONVENTIONS } from '../../../src/conventions/registry.ts';
import { EMITTERS } from '../../support/recordings/emitters.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { buildSpan } from '../../support/builders/spans.ts';

/** Spoken by many emitters: what one of them is, its scope tells. */
const SHARED = ['otel-genai', 'otel-genai-events', 'otel-genai-content', 'traceloop-flattened'];

/** A setting in the form in which it is set: a variable, a property, an option or a function. */
const SETTING =
  /[A-Z]{2,}_[A-Z_]+|[a-z]+\.[a-z-]+\.[a-z.-]+|[a-z]+[A-Z][A-Za-z]+|[a-z]+_[a-z_]+|scrubbing|add the OpenInference/;

/** Advice of every run of a recording that came without content. */
const SILENT = (['spans', 'spans-multi', 'spans-spec', 'spans-thirdparty'] as const).flatMap((folder) =>
  listExpectations<unknown>(folder).flatMap(([name]) => {
    const runs = readTraces(recordedSpans(folder, name)).flatMap((reading) => reading.runs);
    const silent = runs.filter((run) => run.notScorable?.code === 'no_content_captured');
    return silent.map((run) => [`${folder}/${name}`, run.notScorable?.detail ?? ''] as const);
  }),
);

const read = (scopeName: string, conventions: string[]) => ({
  span: { ...buildSpan('s', {}), scopeName },
  conventions: new Map(conventions.map((name) => [name, 1])),
});

describe('the switch that makes an emitter send content', () => {
  it.each(CONVENTIONS.map(({ name }) => name).filter((name) => !SHARED.includes(name)))(
    'is known of what only %s says',
    (name) => {
      expect(findContentSwitch([read('application', [name])])?.conventions).toContain(name);
    },
  );

  it('is known of no convention that does not exist', () => {
    const names = CONVENTIONS.map(({ name }) => name);
    const known = CONTENT_SWITCHES.flatMap(({ conventions = [] }) => conventions);
    expect(known.filter((name) => !names.includes(name))).toEqual([]);
    expect(known.toSorted()).toEqual([...new Set(known)].toSorted());
  });

  it.each(EMITTERS)('is known of the recordings of $name', ({ cases }) => {
    const names = (['spans', 'spans-multi'] as const).flatMap((folder) =>
      listExpectations<unknown>(folder)
        .filter(([name]) => cases.some((start) => name.startsWith(start)))
        .map(([name]) => recordedSpans(folder, name)),
    );
    const unknown = names.filter((recording) => {
      const spans = decodeTraces(recording).traces.flatMap((trace) => normaliseTrace(trace).spans);
      const told = spans.filter((span) => span.conventions.size > 0);
      return told.length > 0 && findContentSwitch(told) === undefined;
    });
    expect(names).not.toEqual([]);
    expect(unknown).toEqual([]);
  });

  it.each(SILENT)('is named in the advice for %s', (_name, detail) => {
    expect(CONTENT_SWITCHES.filter(({ setting }) => detail.includes(setting))).not.toEqual([]);
  });

  it.each(CONTENT_SWITCHES)('of $emitter is a setting by its name, or says that there is none', (one) => {
    expect(one.setting).toMatch(one.setting.includes('no setting') ? /always sends/ : SETTING);
    expect(one.setting.endsWith('.')).toBe(false);
    expect(one.source).not.toBe('');
  });

  it.each(CONTENT_SWITCHES)('of $emitter is found by each of its scopes', (one) => {
    const found = one.scopes.map(
      (scope) =>
        findContentSwitch([read(scope.replace(/\*$/, ''), one.requires === undefined ? [] : [one.requires])])
          ?.emitter,
    );
    expect(found).toEqual(one.scopes.map(() => one.emitter));
  });

  it.each([
    ['genkit-tracer', /Genkit always sends content/],
    ['strands-agents', /Strands always sends content/],
    ['strands.telemetry.tracer', /Strands always sends content/],
    ['langsmith', /LANGSMITH_HIDE_INPUTS/],
    ['litellm', /turn_off_message_logging/],
    ['lmnr.tracer', /ignore_input/],
    ['openlit.otel.tracing', /capture_message_content/],
    ['livekit-agents', /allow_pii=True/],
    ['langfuse-sdk', /capture_input/],
    ['@mastra/otel-bridge', /hideInput/],
    ['opentelemetry.instrumentation.openai_agents', /OPENAI_AGENTS_CAPTURE_CONTENT/],
    ['opentelemetry.instrumentation.crewai', /TRACELOOP_TRACE_CONTENT/],
    ['opentelemetry.instrumentation.google_genai', /OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT/],
    ['opentelemetry.instrumentation.botocore.bedrock-runtime', /OTEL_INSTRUMENTATION_GENAI_CAPTURE/],
    ['opentelemetry.instrumentation.vertexai', /OTEL_INSTRUMENTATION_GENAI_CAPTURE/],
    ['gemini-cli', /telemetry.logPrompts/],
    ['azure.ai.agents', /AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED/],
  ])('of scope %s is %s', (scope, setting) => {
    expect(contentAdvice([read(scope, [])])).toMatch(setting);
  });

  it.each(['openai_agents', 'vertexai'])(
    'of the shared scope of %s is OpenLLMetry’s with its keys',
    (name) => {
      const scope = `opentelemetry.instrumentation.${name}`;
      expect(contentAdvice([read(scope, []), read(scope, ['traceloop'])])).toMatch(/TRACELOOP_TRACE_CONTENT/);
      expect(contentAdvice([read(scope, ['otel-genai'])])).not.toMatch(/TRACELOOP/);
    },
  );

  it('of an unknown emitter is a general hint, with its scope', () => {
    expect(contentAdvice([read('my-app', ['otel-genai'])])).toBe(
      'switch on the capture of message content in the emitter (scope my-app)',
    );
  });
});
