import { useEffect, useState } from 'preact/hooks';
import { write } from '../client.ts';
import { useOrders } from '../orders.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { ProblemNote } from '../parts/loaded.tsx';
import { Page } from '../parts/page.tsx';
import { Text } from '../parts/text.tsx';
import { useRead } from '../resource.ts';
import { mayUse } from '../session.ts';
import { tracePath } from '../view-models/paths/row-paths.ts';
import {
  chooseEndpoint,
  endpointVariables,
  writeSettings,
  SDK_SETTINGS,
  type SdkSetting,
} from '../view-models/sdk-settings.ts';

/** Time between two looks for the first span, milliseconds. */
const LOOK_EVERY_MS = 2_000;

/** Page of the first day: the address for spans, and the settings of each SDK. */
export function Welcome() {
  const status = useRead('/status');
  const otlpHttp = status.kind === 'ready' ? status.data.otlpHttp : undefined;
  const endpoint = chooseEndpoint(otlpHttp, location.hostname);
  const variables = endpointVariables(endpoint);
  return (
    <Page
      title="Welcome"
      lead="Send spans of your agent here: each trace is read as an agent run and gets scores with reasons."
    >
      <Arrival />
      <Sample />
      <section class="card" aria-labelledby="endpoint">
        <h2 id="endpoint">1. Tell your agent where to send its spans</h2>
        <Snippet text={variables} what="the variables" />
        <p>
          {typeof otlpHttp === 'string'
            ? 'This is the address on which this spanscore listens. '
            : 'This process does not say where spans are received: this is the address of a local start. '}
          With <code>auth.tokens</code>, also set{' '}
          <code>
            <Text of={'OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer …"'} />
          </code>
          .
        </p>
      </section>
      <section class="card" aria-labelledby="sdks">
        <h2 id="sdks">2. Switch on the spans of your SDK</h2>
        {SDK_SETTINGS.map((setting) => (
          <Sdk key={setting.name} setting={setting} endpoint={endpoint} />
        ))}
      </section>
      <section class="card" aria-labelledby="then">
        <h2 id="then">3. Run your agent</h2>
        <p>
          A trace is scored about five seconds after its last span. Then it is in the list of{' '}
          <a href="/traces">traces</a>. If its content is missing, its page names the setting that makes your
          SDK send it.
        </p>
      </section>
    </Page>
  );
}

/** Button that sends a made trace, and leads to it. */
function Sample() {
  const [traceId, setTraceId] = useState('');
  const { outcome, order } = useOrders();
  const send = (): void =>
    order(
      () => write('POST /traces/sample', undefined),
      (sent) => {
        setTraceId(sent.traceId);
        return '';
      },
    );
  return mayUse('admin') ? (
    <p class="row">
      <button type="button" class="primary" onClick={send}>
        Send a sample trace
      </button>{' '}
      {outcome}
      {traceId !== '' && <a href={tracePath({ tenant: '', traceId })}>See the sample trace</a>}
    </p>
  ) : null;
}

/** Says whether a trace has arrived, and looks again until one has. */
function Arrival() {
  const traces = useRead('/traces', { query: { limit: '1' } });
  const hasArrived = traces.kind === 'ready' && traces.data.items.length > 0;
  const { reload } = traces;
  useEffect(() => {
    if (hasArrived) {
      return undefined;
    }
    const timer = setInterval(reload, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [hasArrived, reload]);
  if (traces.kind === 'problem') {
    return <ProblemNote problem={traces.problem} what="the first span" onRetry={reload} />;
  }
  return (
    <p role="status" class={hasArrived ? 'arrival good' : 'arrival'}>
      {hasArrived ? (
        <>
          ✓ The first span has arrived. See the <a href="/traces">traces</a>.
        </>
      ) : (
        '… Waiting for the first span'
      )}
    </p>
  );
}

function Sdk({ setting, endpoint }: { readonly setting: SdkSetting; readonly endpoint: string }) {
  const { name, language, install, page } = setting;
  return (
    <details>
      <summary>
        {name} ({language})
      </summary>
      {install !== undefined && <Snippet text={install} what={`the command for ${name}`} />}
      <Snippet text={writeSettings(setting, endpoint)} what={`the settings of ${name}`} />
      {page !== undefined && (
        <p>
          A whole program: <code>docs/quickstarts/{page}.md</code> of the package.
        </p>
      )}
    </details>
  );
}

function Snippet({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div class="snippet">
      <pre tabIndex={0} role="group" aria-label={what}>
        <code>
          <Text of={text} />
        </code>
      </pre>
      <CopyButton text={text} what={what} />
    </div>
  );
}
