import * as callbacks from '@langchain/core/callbacks/manager';
import { LangChainInstrumentation } from '@traceloop/instrumentation-langchain';
import { playWithLangChain } from '../langchain-agent.mjs';
import { startTelemetry, withRequestSpan } from '../telemetry.mjs';

const telemetry = startTelemetry();
const instrumentation = new LangChainInstrumentation();
instrumentation.setTracerProvider(telemetry);
instrumentation.manuallyInstrument({ callbackManagerModule: callbacks });
await withRequestSpan(() => playWithLangChain());
await telemetry.shutdown();
