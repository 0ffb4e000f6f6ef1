import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbacks from '@langchain/core/callbacks/manager';
import { SESSION } from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';
import { playWithLangChain } from '../langchain-agent.mjs';

const telemetry = startTelemetry();
new LangChainInstrumentation({ tracerProvider: telemetry }).manuallyInstrument(callbacks);
await playWithLangChain({ metadata: { session_id: SESSION } });
await telemetry.shutdown();
