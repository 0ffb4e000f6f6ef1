/** Who may import what: the import rules of ARCHITECTURE.md, one entry each. */
const ours = '^(src|collector)/';

function only(name, comment, folder, allowed) {
  return {
    name,
    comment,
    severity: 'error',
    from: { path: folder },
    to: { path: ours, pathNot: [folder, ...allowed] },
  };
}

export default {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    only('domain-is-a-leaf', 'Nouns and pure functions import nothing of ours.', '^src/domain/', []),
    only('telemetry-knows-domain-only', 'Logs and counters may name domain nouns.', '^src/telemetry/', [
      '^src/domain/',
    ]),
    only('config-is-a-leaf', 'Configuration is data: it knows domain nouns only.', '^src/config/', [
      '^src/domain/',
    ]),
    only(
      'collector-ingests-only',
      'The collector knows nothing of scoring: domain, telemetry, config and the contracts of the store.',
      '^collector/',
      ['^src/domain/', '^src/telemetry/', '^src/config/', '^src/store/contracts/'],
    ),
    only('conventions-are-pure', 'Traces become runs by pure functions.', '^src/conventions/', [
      '^src/domain/',
    ]),
    only(
      'judge-is-library',
      'The judge knows domain nouns, what HTTP replies mean, and the environment for a provider key.',
      '^src/judge/',
      ['^src/domain/', '^src/outbound/', '^src/config/environment.ts$'],
    ),
    only('evals-are-library', 'Scorer framework: domain and judge.', '^src/evals/', [
      '^src/domain/',
      '^src/judge/',
    ]),
    only(
      'scorers-are-library',
      'Prebuilt scorers: the framework, the judge and domain nouns.',
      '^src/scorers/',
      ['^src/domain/', '^src/evals/', '^src/judge/'],
    ),
    only(
      'legacy-is-library',
      'The older metric interface: thin faces over scorers, framework and judge.',
      '^src/legacy/',
      ['^src/domain/', '^src/evals/', '^src/judge/', '^src/scorers/'],
    ),
    only('sampling-is-pure', 'Sampling is a function of the trace id.', '^src/sampling/', ['^src/domain/']),
    only('readiness-has-ports', 'Readiness reaches the store through ports of its own.', '^src/readiness/', [
      '^src/domain/',
      '^src/telemetry/',
    ]),
    only('monitors-are-pure', 'Detectors fold buckets: no store, no clock.', '^src/monitors/', [
      '^src/domain/',
    ]),
    only('outbound-is-a-leaf', 'How others are asked over HTTP knows nouns only.', '^src/outbound/', [
      '^src/domain/',
    ]),
    only(
      'alerts-have-ports',
      'Alerts reach the store through its contracts, and others over HTTP.',
      '^src/alerts/',
      ['^src/domain/', '^src/telemetry/', '^src/outbound/', '^src/store/contracts/'],
    ),
    {
      name: 'prebuilt-scorers-stand-alone',
      comment: 'A prebuilt scorer never imports another one.',
      severity: 'error',
      from: { path: '^src/scorers/prebuilt/([^/]+)/' },
      to: {
        path: '^src/scorers/prebuilt/',
        pathNot: ['^src/scorers/prebuilt/$1/', '^src/scorers/prebuilt/shared/'],
      },
    },
    {
      name: 'only-the-store-knows-clickhouse',
      comment: 'The ClickHouse client and the engine stay behind src/store.',
      severity: 'error',
      from: { path: ours, pathNot: '^src/store/' },
      to: { path: '(@clickhouse/client|node_modules/chdb)' },
    },
    {
      name: 'roots-are-imported-by-the-cli-only',
      comment:
        'components and serve may import everything; nothing but the CLI, the public index and tests imports them.',
      severity: 'error',
      from: {
        path: ours,
        pathNot: '^src/(cli/|app/|index.ts$|serve.ts$|components.ts$)',
      },
      to: { path: '^src/(components|serve)' },
    },
    {
      name: 'not-to-dev-dep',
      comment: 'What ships may not need a development dependency, unless its user brings it along.',
      severity: 'error',
      from: { path: ours },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'not-to-test',
      comment: 'Code never imports tests.',
      severity: 'error',
      from: { path: ours },
      to: { path: '^test/' },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    exclude: { path: '^(dist|test/fixtures)/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
