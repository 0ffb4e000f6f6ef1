import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  API_KEY,
  getWeather,
  HISTORY,
  MODEL,
  MODEL_URL,
  QUESTION,
  SESSION,
  SYSTEM,
  TOOL,
  TOOL_DESCRIPTION,
} from '../story.mjs';

// A home and a prompt of its own, and a model on loopback: the core reads these when it is loaded.
const home = mkdtempSync(join(tmpdir(), 'spanscore-gemini-'));
const prompt = join(home, 'system.md');
writeFileSync(prompt, SYSTEM);
process.env.GEMINI_CLI_HOME = home;
process.env.GEMINI_SYSTEM_MD = prompt;
process.env.GEMINI_API_KEY = API_KEY;
process.env.GOOGLE_GEMINI_BASE_URL = MODEL_URL.replace(/\/v1$/, '');
const core = await import('@google/gemini-cli-core');

class WeatherInvocation extends core.BaseToolInvocation {
  getDescription() {
    return TOOL_DESCRIPTION;
  }

  async execute() {
    const text = JSON.stringify(getWeather(this.params));
    return { llmContent: text, returnDisplay: text };
  }
}

class WeatherTool extends core.BaseDeclarativeTool {
  constructor(messageBus) {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
    super(TOOL, 'Weather', TOOL_DESCRIPTION, core.Kind.Read, schema, messageBus);
  }

  createInvocation(params, messageBus, name, displayName) {
    return new WeatherInvocation(params, messageBus, name, displayName);
  }
}

const config = new core.Config({
  sessionId: SESSION,
  targetDir: home,
  cwd: home,
  debugMode: false,
  model: MODEL,
  approvalMode: core.ApprovalMode.YOLO,
  coreTools: [],
  includeDirectoryTree: false,
  usageStatisticsEnabled: false,
  telemetry: {
    enabled: true,
    traces: true,
    logPrompts: true,
    otlpEndpoint: process.env.OTEL_EXPORTER_OTLP_ENDPOINT,
    otlpProtocol: 'http',
  },
});
await config.refreshAuth(core.AuthType.GATEWAY);
await config.initialize();
config.getToolRegistry().registerTool(new WeatherTool(config.getMessageBus()));
const client = config.getGeminiClient();
await client.setTools();
for (const { role, content } of HISTORY) {
  await client.addHistory({ role: role === 'user' ? 'user' : 'model', parts: [{ text: content }] });
}

async function ask() {
  const session = new core.LegacyAgentSession({ config });
  const stream = session.sendStream({ message: { content: [{ type: 'text', text: QUESTION }] } });
  for await (const event of stream) {
    if (event.type === 'error') {
      throw new Error(event.message);
    }
  }
}

/** Asks in a span around the prompt, as the CLI does with a terminal. */
function askInSpan() {
  const operation = core.GeminiCliOperation.UserPrompt;
  return core.runInDevTraceSpan({ operation, sessionId: SESSION }, async ({ metadata }) => {
    metadata.input = QUESTION;
    await ask();
  });
}

await (process.env.TERMINAL_SPAN === '1' ? askInSpan() : ask());
await core.flushTelemetry(config);
await core.shutdownTelemetry(config);
rmSync(home, { recursive: true, force: true });
process.exit();
