import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { tellNotProved } from '../../support/not-proved.ts';
import { goProgram } from '../../support/processes/go-program.ts';
import { pythonVenv } from '../python/python-venv.ts';

// Files of deploy/, read by the libraries of the programs that use them, and held against the schemas of Kubernetes. No container engine,
// no cluster and no Grafana runs them here.

const deploy = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const KUBERNETES = '1.34';
/** Longest drain after SIGTERM, seconds. */
const DRAIN_S = 30;

const program = await goProgram('deploy-checker');
const binary = 'binary' in program ? program.binary : '';
const schemas = 'binary' in program ? await pythonVenv('kubernetes-validate') : program;
if ('missing' in schemas && 'binary' in program) {
  tellNotProved('the schemas of Kubernetes', schemas.missing);
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-manifests-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Checked {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Command =
  | 'compose'
  | 'kustomize'
  | 'operator'
  | 'dockerfile'
  | 'rules'
  | 'adapter'
  | 'dashboard'
  | 'alerting';

function check(command: Command, path: string, variables: Record<string, string> = {}): Checked {
  return spawnSync(binary, [command, path], {
    encoding: 'utf8',
    maxBuffer: 16 << 20,
    env: { ...process.env, ...variables },
  });
}

/** Checks a file of deploy with a part of it replaced. */
function checkBroken(command: Command, path: string, right: string, wrong: string): Checked {
  const text = readFileSync(join(deploy, path), 'utf8');
  expect(text).toContain(right);
  const broken = join(folder, 'broken');
  writeFileSync(
    broken,
    text.replace(right, () => wrong),
  );
  return check(command, broken);
}

describe.skipIf('missing' in program)('compose-go', () => {
  const file = join(deploy, 'compose/compose.yaml');
  const secrets = Object.fromEntries(
    [...readFileSync(join(deploy, 'compose/.env.example'), 'utf8').matchAll(/^(\w+)=/gm)].map(
      ([, name = '']) => [name, 'a-secret'],
    ),
  );

  it('loads the file, with its secrets, merges and dependencies', () => {
    const { status, stdout, stderr } = check('compose', file, secrets);

    expect([status, stderr]).toEqual([0, '']);
    const { services } = JSON.parse(stdout) as {
      services: Record<string, { read_only?: boolean; depends_on?: Record<string, { condition: string }> }>;
    };
    expect(services['spanscore']?.read_only).toBe(true);
    expect(services['spanscore']?.depends_on?.['clickhouse']?.condition).toBe('service_healthy');
  });

  it('refuses it without a secret', () => {
    const { status, stderr } = check('compose', file, { ...secrets, ADMIN_TOKEN: '' });

    expect([status, stderr]).toEqual([1, expect.stringContaining('choose one in .env')]);
  });

  it.each([
    ['a key that Compose does not know', 'cap_drop: [ALL]', 'cap_droop: [ALL]'],
    [
      'a dependency that is no service',
      'topics: { condition: service_completed_successfully }',
      'topic: { condition: service_started }',
    ],
    ['a volume without a name', 'kafka-data:/var', 'kafka-date:/var'],
  ])('refuses %s', (_fault, right, wrong) => {
    cpSync(deploy, folder, { recursive: true });
    const broken = join(folder, 'compose/compose.yaml');
    writeFileSync(broken, readFileSync(broken, 'utf8').replace(right, wrong));

    expect(check('compose', broken, secrets).status).toBe(1);
  });
});

interface Container {
  readonly args: readonly string[];
  readonly readinessProbe: unknown;
  readonly lifecycle: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly securityContext: unknown;
  readonly envFrom: unknown;
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
  readonly resources: unknown;
}

interface Claim {
  readonly metadata: { readonly name: string };
  readonly spec: unknown;
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
    readonly scaleTargetRef?: { readonly name: string };
    readonly metrics?: readonly { readonly external?: { readonly metric: { readonly name: string } } }[];
    readonly endpoints?: readonly { readonly port: string }[];
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly automountServiceAccountToken: boolean;
        readonly securityContext: unknown;
        readonly containers: readonly Container[];
        readonly volumes: readonly Volume[];
      };
    };
    readonly volumeClaimTemplates?: readonly Claim[];
  };
}

interface Volume {
  readonly name: string;
  readonly configMap?: unknown;
  readonly persistentVolumeClaim?: { readonly claimName: string };
}

const SHAPES = ['base', 'overlays/kafka', 'overlays/single-box'] as const;
const RESTORE = 'overlays/single-box-restore';

function build(shape: (typeof SHAPES)[number] | typeof RESTORE): Manifest[] {
  const { status, stdout, stderr } = check('kustomize', join(deploy, 'kubernetes', shape));
  expect([status, stderr]).toEqual([0, '']);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

function ofKind(manifests: readonly Manifest[], ...kinds: readonly string[]): Manifest[] {
  return manifests.filter(({ kind }) => kinds.includes(kind));
}

function matches(
  selector: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

describe.skipIf('missing' in program).each(SHAPES)('the manifests of %s', (shape) => {
  it('run every role once, or all roles in one pod', () => {
    const roles = ofKind(build(shape), 'Deployment', 'StatefulSet').map(({ spec }) =>
      spec.template.spec.containers[0]?.args.join(' '),
    );

    const apart = ['collector', 'scorer', 'api'].map((role) => `serve --role ${role}`);
    expect(new Set(roles)).toEqual(new Set(shape === 'overlays/single-box' ? ['serve'] : apart));
  });

  it('give each pod probes, no rights, a read-only root, and more time than the drain', () => {
    for (const { spec } of ofKind(build(shape), 'Deployment', 'StatefulSet')) {
      const pod = spec.template.spec;
      const [container] = pod.containers;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(container).toMatchObject({
        startupProbe: { httpGet: { path: '/healthz', port: 'api' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'api' } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'api' } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      });
      const pauseS = container?.lifecycle.preStop.sleep.seconds ?? 0;
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pauseS + DRAIN_S);
      expect(container?.volumeMounts.map(({ mountPath }) => mountPath)).toEqual([
        '/etc/spanscore',
        '/data',
        ...(shape === 'overlays/single-box' ? ['/backups'] : []),
        '/tmp',
      ]);
    }
  });

  it('protect each workload from disruption, and let each selector find pods', () => {
    const manifests = build(shape);
    const pods = ofKind(manifests, 'Deployment', 'StatefulSet').map(
      ({ spec }) => spec.template.metadata.labels,
    );
    const budgets = ofKind(manifests, 'PodDisruptionBudget').map(({ spec }) => spec.selector?.matchLabels);

    expect(budgets).toHaveLength(pods.length);
    expect(pods.filter((labels) => !budgets.some((selector) => matches(selector, labels)))).toEqual([]);
    const services = ofKind(manifests, 'Service').map(
      ({ spec }) => spec.selector as Readonly<Record<string, string>> | undefined,
    );
    expect(services.filter((selector) => !pods.some((labels) => matches(selector, labels)))).toEqual([]);
  });

  it('name the job that the rules of Prometheus expect', () => {
    const manifests = build(shape);
    const [monitor] = ofKind(manifests, 'ServiceMonitor');
    const found = ofKind(manifests, 'Service').filter(({ metadata }) =>
      matches(monitor?.spec.selector?.matchLabels, metadata.labels),
    );

    expect(monitor?.spec).toMatchObject({ jobLabel: 'app.kubernetes.io/name', endpoints: [{ port: 'api' }] });
    expect(found.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'])).toEqual(['spanscore']);
  });

  it('have no secret, deny all traffic that nothing allows, and enforce the restricted profile', () => {
    const manifests = build(shape);

    expect(ofKind(manifests, 'Secret')).toEqual([]);
    expect(ofKind(manifests, 'NetworkPolicy').map(({ spec }) => spec)).toContainEqual({
      podSelector: {},
      policyTypes: ['Ingress', 'Egress'],
    });
    expect(ofKind(manifests, 'Namespace').map(({ metadata }) => metadata.labels)).toMatchObject([
      { 'pod-security.kubernetes.io/enforce': 'restricted' },
    ]);
  });

  it('leave the number of pods to the autoscaler where one is, and say it elsewhere', () => {
    const manifests = build(shape);
    const scaled = ofKind(manifests, 'HorizontalPodAutoscaler').map(({ spec }) => spec.scaleTargetRef?.name);
    const workloads = ofKind(manifests, 'Deployment', 'StatefulSet');

    const numbered = workloads.filter(({ spec }) => spec.replicas !== undefined);
    const names = (some: readonly Manifest[]) => some.map(({ metadata }) => metadata.name).sort();
    expect(names(numbered)).toEqual(
      names(workloads.filter(({ metadata }) => !scaled.includes(metadata.name))),
    );
  });

  it('scale by metrics that the adapter serves', () => {
    const { rules } = parse(
      readFileSync(join(deploy, 'kubernetes/prometheus-adapter-rules.yaml'), 'utf8'),
    ) as {
      rules: { external: { name: { as: string } }[] };
    };
    const served = rules.external.map(({ name }) => name.as);
    const scalers = ofKind(build(shape), 'HorizontalPodAutoscaler');
    const external = scalers
      .flatMap(({ spec }) => spec.metrics ?? [])
      .flatMap((metric) => metric.external ?? []);

    expect(external.filter(({ metric }) => !served.includes(metric.name))).toEqual([]);
    const lag = external.some(({ metric }) => metric.name === 'spanscore_kafka_lag');
    expect([scalers.length, lag]).toEqual(
      shape === 'overlays/single-box' ? [0, false] : [2, shape === 'overlays/kafka'],
    );
  });
});

describe.skipIf('missing' in program)('backups of the single pod', () => {
  function requireOne(manifests: readonly Manifest[], kind: string): Manifest {
    const [found, ...others] = ofKind(manifests, kind);
    expect(others).toEqual([]);
    return found as Manifest;
  }
  const readClaims = (manifests: readonly Manifest[]): Claim[] => ofKind(manifests, 'PersistentVolumeClaim');
  const findVolume = ({ spec }: Manifest, name: string) =>
    spec.template.spec.volumes.find((volume) => volume.name === name);

  it('are on a volume that is not that of the data', () => {
    const manifests = build('overlays/single-box');
    const pod = requireOne(manifests, 'StatefulSet');

    expect(readClaims(manifests).map(({ metadata }) => metadata.name)).toEqual(['spanscore-backups']);
    expect(findVolume(pod, 'backups')?.persistentVolumeClaim?.claimName).toBe('spanscore-backups');
    expect(pod.spec.volumeClaimTemplates?.map(({ metadata }) => metadata.name)).toEqual(['data']);
  });

  it('are restored by a job, while no pod runs, into the volume that the pod then finds', () => {
    const [{ spec: running }, manifests] = [
      requireOne(build('overlays/single-box'), 'StatefulSet'),
      build(RESTORE),
    ];
    const job = requireOne(manifests, 'Job');
    const stopped = requireOne(manifests, 'StatefulSet');
    const data = findVolume(job, 'data')?.persistentVolumeClaim?.claimName;

    expect(stopped.spec).toEqual({ ...running, replicas: 0 });
    expect(data).toBe(`data-${stopped.metadata.name}-0`);
    expect(readClaims(manifests).find(({ metadata }) => metadata.name === data)?.spec).toEqual(
      running.volumeClaimTemplates?.[0]?.spec,
    );
    expect(findVolume(job, 'config')).toEqual(findVolume(stopped, 'config'));
    expect(findVolume(job, 'backups')).toEqual(findVolume(stopped, 'backups'));
  });

  it('are restored with the rights of the pod, by a job that no service and no network policy selects', () => {
    const manifests = build(RESTORE);
    const { template } = requireOne(manifests, 'Job').spec;
    const { template: served } = requireOne(manifests, 'StatefulSet').spec;
    const [container, servedContainer] = [template.spec.containers[0], served.spec.containers[0]];

    expect(template.spec.securityContext).toEqual(served.spec.securityContext);
    expect(template.spec.automountServiceAccountToken).toBe(false);
    expect(container?.securityContext).toEqual(servedContainer?.securityContext);
    expect(container?.envFrom).toEqual(servedContainer?.envFrom);
    expect(container?.resources).toEqual(servedContainer?.resources);
    expect(container?.args.slice(0, 2)).toEqual(['restore', '--from']);
    const mounts = (some: Container | undefined) =>
      some?.volumeMounts.map(({ name, mountPath }) => `${name} ${mountPath}`);
    expect(mounts(container)).toEqual(mounts(servedContainer));
    expect(container?.volumeMounts.find(({ name }) => name === 'backups')?.readOnly).toBe(true);
    const selectors = ofKind(manifests, 'Service').map(
      ({ spec }) => spec.selector as Readonly<Record<string, string>> | undefined,
    );
    expect(selectors.filter((selector) => matches(selector, template.metadata.labels))).toEqual([]);
  });
});

describe.skipIf('missing' in program)('kustomize', () => {
  it('refuses a patch of what is not there', () => {
    cpSync(join(deploy, 'kubernetes'), folder, { recursive: true });
    const patch = join(folder, 'overlays/kafka/scale-on-lag.yaml');
    writeFileSync(patch, readFileSync(patch, 'utf8').replace('/spec/metrics', '/speck/metrics'));

    expect(check('kustomize', join(folder, 'overlays/kafka')).status).toBe(1);
  });
});

describe.skipIf('missing' in program)('the types of the Prometheus operator', () => {
  function readKinds(manifests: string): Checked {
    const file = join(folder, 'manifests.yaml');
    writeFileSync(file, manifests);
    return check('operator', file);
  }

  it.each(SHAPES)('have room for each field of %s', (shape) => {
    const { status, stdout, stderr } = readKinds(
      check('kustomize', join(deploy, 'kubernetes', shape)).stdout,
    );

    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n').sort()).toEqual(['PrometheusRule', 'ServiceMonitor']);
  });

  it.each([
    ['a rule', 'runbook_url:', 'runbook_url: [a]\n          other:'],
    ['a scrape', 'jobLabel:', 'jobLable:'],
    ['a group', 'rules:', 'rulez:'],
  ])('have no room for a field of %s that nobody knows', (_part, right, wrong) => {
    const { stdout } = check('kustomize', join(deploy, 'kubernetes/base'));

    expect(stdout).toContain(right);
    expect(readKinds(stdout.replace(right, wrong)).status).toBe(1);
  });
});

describe.skipIf('missing' in program)('BuildKit', () => {
  const file = 'docker/Dockerfile';

  it('plans each stage of the Dockerfile without a warning', () => {
    const { status, stdout, stderr } = check('dockerfile', join(deploy, file));

    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n')).toEqual([
      'package',
      'slim-modules',
      'full-modules',
      'base',
      'slim',
      'full',
    ]);
  });

  it.each([
    [
      'an instruction that nobody knows',
      'WORKDIR /build',
      'WORKDIRS /build',
      'unknown instruction: WORKDIRS',
    ],
    ['a copy from a stage that is not there', '--from=slim-modules', '--from=slim-module', 'slim-module'],
    ['a stage from another that is not there', 'FROM base AS slim', 'FROM bas AS slim', 'library/bas'],
    ['two stages of one name', 'AS full\n', 'AS slim\n', 'DuplicateStageName'],
    ['an argument that nobody declares', '${NODE_VERSION}', '${NODE_VERSIO}', 'invalid reference format'],
    ['a flag of the health check that nobody knows', '--interval=', '--intervals=', 'unknown flag'],
    ['a duration without a unit', '--timeout=5s', '--timeout=5', 'missing unit'],
    ['a port that is no number', 'EXPOSE 4317 ', 'EXPOSE otlp ', 'otlp'],
    ['a command that a shell would run', 'CMD ["serve"]', 'CMD [serve]', 'JSONArgsRecommended'],
  ])('refuses %s', (_fault, right, wrong, message) => {
    const { status, stderr } = checkBroken('dockerfile', file, right, wrong);

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe.skipIf('missing' in program)('Prometheus 3', () => {
  const RULES = ['recording', 'alerts'].map((name) => `prometheus/rules/${name}.yml`);

  it.each(RULES)('parses each rule of %s', (path) => {
    const { groups } = parse(readFileSync(join(deploy, path), 'utf8')) as { groups: { rules: unknown[] }[] };

    expect(check('rules', join(deploy, path))).toMatchObject({
      status: 0,
      stdout: `${groups.flatMap(({ rules }) => rules).length}\n`,
    });
  });

  it.each([
    [
      'an expression that cannot be read',
      'spanscore_engine_up < 1',
      'spanscore_engine_up < =',
      'unexpected "="',
    ],
    ['a key that it does not know', 'runbook_url:', 'runbook_url: [a]\n          other:', 'cannot unmarshal'],
    ['a duration that it does not know', 'for: 2m', 'for: 2minutes', 'unknown unit "minutes"'],
    ['a field of a rule that it does not know', 'for: 2m', 'fore: 2m', 'field fore not found'],
  ])('refuses %s', (_fault, right, wrong, message) => {
    const { status, stderr } = checkBroken('rules', 'prometheus/rules/alerts.yml', right, wrong);

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe.skipIf('missing' in program)('prometheus-adapter', () => {
  const file = 'kubernetes/prometheus-adapter-rules.yaml';

  it('asks for each metric in the namespace of the autoscaler only', () => {
    const { status, stdout, stderr } = check('adapter', join(deploy, file));

    expect([status, stderr]).toEqual([0, '']);
    const { rules } = parse(readFileSync(join(deploy, file), 'utf8')) as {
      rules: { external: { name: { as: string }; metricsQuery: string }[] };
    };
    expect(JSON.parse(stdout)).toEqual(
      Object.fromEntries(
        rules.external.map(({ name, metricsQuery }) => [
          name.as,
          metricsQuery.replace('<<.LabelMatchers>>', 'namespace="spanscore"'),
        ]),
      ),
    );
  });

  it.each([
    ['a key of the chart that nobody knows', 'external:', 'externals:', 'externals'],
    ['a key of a rule that nobody knows', 'metricsQuery:', 'metricQuery:', 'field metricQuery not found'],
    ['a template with a word that nobody knows', '<<.LabelMatchers>>', '<<.LabelMatcher>>', 'LabelMatcher'],
    ['a kind that no cluster has', 'resource: namespace', 'resource: namespases', 'no matches for'],
    ['a query that Prometheus cannot read', 'sum(spanscore', 'sum((spanscore', 'parse error'],
  ])('refuses %s', (_fault, right, wrong, message) => {
    const { status, stderr } = checkBroken('adapter', file, right, wrong);

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe.skipIf('missing' in program)('the types of Grafana', () => {
  const OPERATIONS = 'grafana/dashboards/operations.json';
  const ALERTS = 'grafana/alerting/spanscore.yaml';

  it.each(['quality', 'operations'])('have room for each field of the dashboard %s', (name) => {
    const path = join(deploy, `grafana/dashboards/${name}.json`);
    const { panels } = JSON.parse(readFileSync(path, 'utf8')) as { panels: unknown[] };

    expect(check('dashboard', path)).toMatchObject({ status: 0, stderr: '', stdout: `${panels.length}\n` });
  });

  it('have room for each field of the alert rules', () => {
    const { groups } = parse(readFileSync(join(deploy, ALERTS), 'utf8')) as {
      groups: { rules: unknown[] }[];
    };

    expect(check('alerting', join(deploy, ALERTS))).toMatchObject({
      status: 0,
      stderr: '',
      stdout: `${groups.flatMap(({ rules }) => rules).length}\n`,
    });
  });

  it.each([
    ['a field of the dashboard', '"templating"', '"templates"', "unexpected field 'templates'"],
    ['a field of a panel', '"gridPos"', '"gridPosition"', "unexpected field 'gridPosition'"],
    ['an option of a panel', '"options": {}', '"options": {"colour": "none"}', "unexpected field 'colour'"],
    ['a field of a query', '"legendFormat"', '"legend"', "unexpected field 'legend'"],
    ['a kind of panel', '"timeseries"', '"timeserie"', 'unknown type of a panel'],
  ])('have no room for %s that nobody knows', (_part, right, wrong, message) => {
    const { status, stderr } = checkBroken('dashboard', OPERATIONS, right, wrong);

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });

  it.each([
    ['a field of the group', 'interval: 1m', 'every: 1m', 'unknown field "every"'],
    ['a field of a rule', 'execErrState:', 'execErrorState:', "unexpected field 'execErrorState'"],
    ['a field of a query', 'instant: true', 'instantly: true', "unexpected field 'instantly'"],
    ['a kind of expression', 'type: threshold', 'type: bound', 'type = bound'],
    ['a field of a threshold', 'evaluator:', 'evaluate:', "unexpected field 'evaluate'"],
  ])('have no room for %s of an alert that nobody knows', (_part, right, wrong, message) => {
    const { status, stderr } = checkBroken('alerting', ALERTS, right, wrong);

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe.skipIf('missing' in schemas)('the schemas of Kubernetes', () => {
  function validate(manifests: string): Checked {
    const file = join(folder, 'manifests.yaml');
    writeFileSync(file, manifests);
    const command = join(dirname('python' in schemas ? schemas.python : ''), 'kubernetes-validate');
    return spawnSync(command, ['-k', KUBERNETES, '--strict', file], { encoding: 'utf8' });
  }

  it.each([...SHAPES, RESTORE])('have room for each field of %s', (shape) => {
    const { status, stdout, stderr } = validate(check('kustomize', join(deploy, 'kubernetes', shape)).stdout);

    const said = `${stdout}${stderr}`
      .split('\n')
      .filter((line) => line !== '' && !line.includes(' passed for '));
    // The Prometheus operator has the types of its own kinds.
    expect(status).toBe(0);
    expect(said.sort()).toEqual([
      expect.stringContaining('for kind PrometheusRule'),
      expect.stringContaining('for kind ServiceMonitor'),
    ]);
  });

  it('have no room for a field that nobody knows', () => {
    const { stdout } = check('kustomize', join(deploy, 'kubernetes/base'));

    const { status } = validate(stdout.replace('readinessProbe:', 'readynessProbe:'));

    expect(status).not.toBe(0);
  });
});
