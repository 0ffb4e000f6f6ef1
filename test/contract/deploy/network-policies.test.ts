import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/deploy.md');

type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchLabels?: Labels;
}

interface Port {
  readonly port: number | string;
  readonly protocol: string;
}

interface TrafficRule {
  readonly from?: readonly { readonly namespaceSelector: Selector }[];
  readonly to?: readonly { readonly namespaceSelector: Selector }[];
  readonly ports: readonly Port[];
}

interface Policy {
  readonly podSelector: Selector;
  readonly policyTypes: readonly string[];
  readonly ingress?: readonly TrafficRule[];
  readonly egress?: readonly TrafficRule[];
}

interface Pod {
  readonly labels: Labels;
  /** Ports of its container, by name. */
  readonly ports: Readonly<Record<string, number>>;
}

interface Manifest {
  readonly kind: string;
  readonly spec: Policy & {
    readonly template: {
      readonly metadata: { readonly labels: Labels };
      readonly spec: {
        readonly containers: readonly {
          readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
        }[];
      };
    };
  };
}

function readManifests(path: string): Manifest[] {
  return parseAllDocuments(read(`deploy/kubernetes/${path}`)).map((document) => document.toJS() as Manifest);
}

const policies = readManifests('common/network-policies.yaml').map(({ spec }) => spec);

function readPod(path: string): Pod {
  const workload = readManifests(path).find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
  const { metadata, spec } = workload?.spec.template ?? {
    metadata: { labels: {} },
    spec: { containers: [] },
  };
  const ports = spec.containers.flatMap((container) =>
    container.ports.map(({ name, containerPort }) => [name, containerPort] as const),
  );
  return { labels: metadata.labels, ports: Object.fromEntries(ports) };
}

const PODS = {
  collector: readPod('base/collector.yaml'),
  scorer: readPod('base/scorer.yaml'),
  api: readPod('base/api.yaml'),
  'all roles in one': readPod('overlays/single-box/spanscore.yaml'),
} as const;

type Role = keyof typeof PODS;

const ROLES = Object.keys(PODS) as Role[];

function matches({ matchLabels = {} }: Selector, labels: Labels): boolean {
  return Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
}

/** Traffic of a pod with a namespace, or with an address outside of the cluster. */
interface Traffic {
  readonly direction: 'Ingress' | 'Egress';
  readonly peer: Labels | 'outside';
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP';
}

/** Returns true when a pod may have this traffic: as the API of Kubernetes says, one policy that allows it is enough. */
function isAllowed(pod: Pod, { direction, peer, port, protocol = 'TCP' }: Traffic): boolean {
  const own = policies.filter(
    ({ podSelector, policyTypes }) => policyTypes.includes(direction) && matches(podSelector, pod.labels),
  );
  const rules = own.flatMap(({ ingress = [], egress = [] }) => (direction === 'Ingress' ? ingress : egress));
  return (
    own.length === 0 ||
    rules.some(({ from, to, ports }) => {
      const peers = from ?? to;
      const isPeer =
        peers === undefined ||
        (peer !== 'outside' && peers.some(({ namespaceSelector }) => matches(namespaceSelector, peer)));
      return isPeer && ports.some((each) => each.protocol === protocol && toNumber(each, pod) === port);
    })
  );
}

function toNumber({ port }: Port, pod: Pod): number | undefined {
  return typeof port === 'number' ? port : pod.ports[port];
}

/** Labels of a namespace that a command of the page gives. */
function labelsFromPage(namespace: string): Labels {
  const [, name = '', value = ''] =
    new RegExp(`kubectl label namespace ${namespace} (\\S+)=(\\S+)`).exec(page) ?? [];
  return { [name]: value };
}

/** Port of an address in the command of the page that creates the secret. */
function portFromPage(variable: string): number {
  return Number(new RegExp(`${variable}=\\S+:(\\d+)`).exec(page)?.[1]);
}

const DNS = { 'kubernetes.io/metadata.name': 'kube-system' };
const AGENTS = labelsFromPage('my-agents');
const MONITORING = labelsFromPage('monitoring');
const CLICKHOUSE = { 'kubernetes.io/metadata.name': 'clickhouse' };
const KAFKA = { 'kubernetes.io/metadata.name': 'kafka' };
const STORE_PORT = portFromPage('CLICKHOUSE_URL');
const KAFKA_PORT = portFromPage('KAFKA_BROKER');
const [API, OTLP_HTTP, OTLP_GRPC] = [4320, 4318, 4317] as const;

const outOf = (peer: Traffic['peer'], port: number, protocol?: 'UDP'): Traffic => ({
  direction: 'Egress',
  peer,
  port,
  ...(protocol && { protocol }),
});
const into = (peer: Labels, port: number): Traffic => ({ direction: 'Ingress', peer, port });

const EVERY_ROLE: readonly (readonly [string, Traffic])[] = [
  ['look up names (UDP)', outOf(DNS, 53, 'UDP')],
  ['look up names (TCP)', outOf(DNS, 53)],
  ['be scraped by Prometheus', into(MONITORING, API)],
];
const STORE = ['reach ClickHouse', outOf(CLICKHOUSE, STORE_PORT)] as const;
const STORE_TLS = ['reach ClickHouse with TLS outside of the cluster', outOf('outside', 8443)] as const;
const TOPICS = ['read topics of Kafka', outOf(KAFKA, KAFKA_PORT)] as const;
const RECEIVE = [
  ['receive OTLP/HTTP', into(AGENTS, OTLP_HTTP)],
  ['receive OTLP/gRPC', into(AGENTS, OTLP_GRPC)],
] as const;
const SEND = [
  ['ask judges, and send scores and alerts (HTTPS)', outOf('outside', 443)],
  ['tell an Alertmanager', outOf(MONITORING, 9093)],
] as const;

const NEEDS: Readonly<Record<Role, readonly (readonly [string, Traffic])[]>> = {
  collector: [...EVERY_ROLE, STORE, STORE_TLS, TOPICS, ...RECEIVE],
  scorer: [...EVERY_ROLE, STORE, STORE_TLS, ...SEND],
  api: [...EVERY_ROLE, STORE, STORE_TLS, ['answer people', into(MONITORING, API)]],
  'all roles in one': [...EVERY_ROLE, TOPICS, ...RECEIVE, ...SEND],
};

describe.each(ROLES)('a pod with the role %s', (role) => {
  it.each(NEEDS[role])('may %s', (_need, traffic) => {
    expect(isAllowed(PODS[role], traffic)).toBe(true);
  });

  it.each<[string, Traffic]>([
    ['answer a namespace without a label', into({}, API)],
    ['answer agents', into(AGENTS, API)],
    ['receive spans of a namespace without a label', into({}, OTLP_HTTP)],
    ['receive spans of people', into(MONITORING, OTLP_HTTP)],
    ['ask another server for names', outOf('outside', 53, 'UDP')],
    ['reach another port', outOf('outside', 5432)],
  ])('may not %s', (_wish, traffic) => {
    expect(isAllowed(PODS[role], traffic)).toBe(false);
  });
});

describe('the network policies', () => {
  it('let no scorer and no API receive spans', () => {
    const receiving = ROLES.filter((role) => isAllowed(PODS[role], into(AGENTS, OTLP_HTTP)));

    expect(receiving).toEqual(['collector', 'all roles in one']);
  });

  it('deny everything to a pod that no other policy names', () => {
    expect(isAllowed({ labels: {}, ports: {} }, outOf('outside', 443))).toBe(false);
    expect(policies[0]).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });

  it('take the labels and ports of the page', () => {
    expect([AGENTS, MONITORING]).toEqual([
      { 'spanscore/sends-spans': 'true' },
      { 'spanscore/reads': 'true' },
    ]);
    expect([STORE_PORT, KAFKA_PORT]).toEqual([8123, 9092]);
  });
});
