import { readTraces } from '../../../../src/conventions/index.ts';
import { recordedSpans } from '../recorded-spans.ts';
import { ANSWERED, each, type Fact, NEITHER, PARIS, RAINY, REMEMBERED, SILENT, single } from './look.ts';

function listReasons(name: string): unknown[] {
  return readTraces(recordedSpans('spans', name)).map(({ runs, notScorable }) => [
    runs.length,
    notScorable?.code,
  ]);
}

const KOOG = { agent: 'weather-agent', session: 'sess-1' };

/** Numbered facts of emitters in Java, Kotlin and Go (there is no 12). */
export const jvmEmitters: readonly Fact[] = [
  [
    'JVM 1 Spring AI’s tool spans have another name and operation in 2 than in 1.1',
    ...each({ tools: ['get_weather'] }, 'spring-ai-1.1-agent', 'spring-ai-2-agent'),
  ],
  [
    'JVM 2 advisors of Spring AI are no agents, calls or tools',
    ...each({ ...REMEMBERED, subs: [] }, 'spring-ai-1.1-agent', 'spring-ai-2-agent'),
  ],
  [
    'JVM 3 Spring AI’s values are all texts, and its scope is Spring Boot’s',
    ...each({ usage: '193/31', models: ['gpt-4o-mini-2024-07-18'] }, 'spring-ai-2-agent'),
  ],
  [
    'JVM 4 texts of Spring AI’s log records tell without roles, and the run says so',
    ...each(
      { ...REMEMBERED, system: 'You are a weather assistant.', warnings: ['roles_unknown'] },
      'spring-ai-2-agent',
    ),
  ],
  [
    'JVM 5 the usage of Spring AI 1.1’s last call is the total',
    ...each({ usage: '193/31' }, 'spring-ai-1.1-agent', 'spring-ai-2-agent'),
  ],
  [
    'JVM 6 totals and names of tools in Spring AI’s attributes are no further calls',
    ...each({ ...ANSWERED, parts: 'tool-invocation step-start text' }, 'spring-ai-2-agent'),
  ],
  [
    'JVM 7 Spring AI by default sends no content, and documents only inside its prompt',
    () => [...single('spring-ai-2-default'), ...single('spring-ai-2-rag')],
    [SILENT, { answer: RAINY, documents: 0, tools: [] }],
  ],
  ['JVM 8 Koog’s scope is the service’s name', ...each({ ...REMEMBERED, ...KOOG }, 'koog-agent')],
  [
    'JVM 9 Koog’s agent span holds neither the question nor the answer, and empty messages say nothing',
    ...each({ ...REMEMBERED, ...KOOG, subs: [] }, 'koog-agent'),
  ],
  [
    'JVM 10 what Koog hides is no content, and its results are encoded twice',
    () => [...single('koog-default'), ...single('koog-agent')],
    [SILENT, ANSWERED],
  ],
  [
    'JVM 11 ADK for Java has its own key for a call’s id, and camel case',
    ...each({ ...REMEMBERED, session: 'sess-1', models: ['gemini-2.5-flash'] }, 'adk-java-agent'),
  ],
  [
    'JVM 13 a failure of ADK for Java has no error status: what the model was told is its result',
    ...each(
      { tools: ['get_weather'], status: 'ok', answer: 'Sorry, the weather service is down right now.' },
      'adk-java-error',
    ),
  ],
  [
    'JVM 14 Genkit for Go wraps outputs of tools, and its outer input is the final conversation',
    () => [...single('genkit-go-agent'), ...single('genkit-go-rag')],
    [
      { ...REMEMBERED, ...NEITHER, agent: 'weatherFlow' },
      { input: PARIS, documents: 2, answer: RAINY },
    ],
  ],
  [
    'JVM 15 openai-java’s records have an observed time only, and no content when it is off',
    () => [...single('otel-openai-java-chat'), ...single('otel-openai-java-default')],
    [REMEMBERED, SILENT, SILENT],
  ],
  [
    'JVM 16 LangChain4j looks like openai-java, and its own HTTP client like nothing',
    () => [...single('langchain4j-javaagent-agent'), ...listReasons('langchain4j-javaagent-httpclient')],
    [REMEMBERED, [0, 'no_agent_or_llm_span'], [0, 'no_agent_or_llm_span']],
  ],
];
