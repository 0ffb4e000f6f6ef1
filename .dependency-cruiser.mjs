import { readdirSync } from 'node:fs';

const ours = '^(src|collector)/';

/**
 * Who may import what: each room, and the rooms and files that it may import beside itself. A room inside another one follows its
 * own row alone. `src/store/connection` opens the store: the rows of other rooms name its contracts.
 */
const ROOMS = {
  'src/domain': [],
  'src/wire': ['src/domain'],
  'src/telemetry': ['src/domain'],
  'src/config': ['src/domain'],
  collector: [
    'src/domain',
    'src/wire',
    'src/telemetry',
    'src/config',
    'src/store/contracts',
    'src/conventions/agent-signals.ts',
    'src/conventions/kept-content.ts',
  ],
  'src/store/contracts': ['src/domain', 'src/monitors'],
  'src/store': [
    'src/domain',
    'src/wire',
    'src/telemetry',
    'src/monitors',
    'src/conventions/agent-signals.ts',
    'src/conventions/fact-keys.ts',
  ],
  'src/store/connection': ['src/domain', 'src/telemetry', 'src/config', 'src/configuration.ts', 'src/store'],
  'src/readiness': ['src/domain', 'src/store/contracts'],
  'src/ownership': ['src/domain', 'src/store/contracts'],
  'src/conventions': ['src/domain', 'src/wire'],
  'src/judge': [
    'src/domain',
    'src/delivery/http',
    'src/config/environment.ts',
    'src/config/judge-packages.ts',
    'src/config/addresses/private-addresses.ts',
  ],
  'src/scorers/evals': ['src/domain', 'src/judge'],
  'src/scorers/own': ['src/domain', 'src/telemetry', 'src/judge', 'src/scorers/evals'],
  'src/scorers': ['src/domain', 'src/judge', 'src/scorers/evals'],
  'src/issues': [
    'src/domain',
    'src/wire',
    'src/judge',
    'src/scoring',
    'src/scorers',
    'src/monitors',
    'src/scorers/evals',
    'src/ownership',
    'src/process',
    'src/store/contracts',
  ],
  'src/scoring': [
    'src/domain',
    'src/telemetry',
    'src/scorers/evals',
    'src/judge',
    'src/readiness',
    'src/ownership',
    'src/store/contracts',
    'src/monitors',
    'src/process',
  ],
  'src/scoring/setup': [
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/configuration.ts',
    'src/components.ts',
    'src/conventions',
    'src/scorers/evals',
    'src/scorers/own',
    'src/issues',
    'src/judge',
    'src/purge',
    'src/scoring',
    'src/store/contracts',
    'src/store/schema/table-settings.ts',
  ],
  'src/jobs': [
    'src/domain',
    'src/telemetry',
    'src/configuration.ts',
    'src/scorers/evals',
    'src/judge',
    'src/readiness',
    'src/ownership',
    'src/monitors',
    'src/scoring',
    'src/store/contracts',
  ],
  'src/purge': [
    'src/domain',
    'src/telemetry',
    'src/jobs',
    'src/store/contracts',
    'src/config',
    'src/configuration.ts',
  ],
  'src/labels': ['src/domain', 'src/store/contracts', 'src/telemetry', 'src/process'],
  'src/monitors': ['src/domain'],
  'src/monitors/live': [
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/configuration.ts',
    'src/components.ts',
    'src/ownership',
    'src/process',
    'src/monitors',
    'src/store/contracts',
  ],
  'src/delivery/http': [
    'src/domain',
    'src/config/addresses/private-addresses.ts',
    'src/config/environment.ts',
  ],
  'src/delivery': [
    'src/domain',
    'src/telemetry',
    'src/config/schema',
    'src/config/addresses',
    'src/config/units.ts',
    'src/configuration.ts',
    'src/monitors/alert-event.ts',
    'src/monitors/attribution/explain-change.ts',
    'src/monitors/mute.ts',
    'src/ownership',
    'src/process',
    'src/store/contracts',
  ],
  'src/sources': [
    'collector',
    'src/domain',
    'src/wire',
    'src/config',
    'src/labels',
    'src/delivery/http',
    'src/ownership',
    'src/process',
    'src/store/contracts',
  ],
  'src/api': [
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/conventions',
    'src/scoring',
    'src/jobs',
    'src/issues',
    'src/labels',
    'src/purge',
    'src/monitors',
    'src/delivery/channels/alert-text.ts',
    'src/store/contracts',
    'src/configuration.ts',
    'src/components.ts',
    'src/aggregates',
    'src/process',
    'src/mcp',
  ],
  'src/mcp': ['src/domain', 'src/config', 'src/process', 'src/api'],
  'src/dashboard': ['src/domain', 'src/api'],
  'src/components.ts': ['collector/receivers', 'src/scorers', 'src/delivery'],
  'src/configuration.ts': ['src/telemetry', 'src/config', 'src/components.ts'],
  'src/process': ['src/domain', 'src/telemetry', 'src/ownership'],
  'src/aggregates': [
    'src/domain',
    'src/telemetry',
    'src/ownership',
    'src/process',
    'src/scoring',
    'src/store/contracts',
  ],
  'src/backup': [
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/configuration.ts',
    'src/process',
    'src/purge',
    'src/store/connection',
    'src/store/contracts',
    'src/store/embedded/data-folder.ts',
    'src/store/copies',
    'src/store/store.ts',
  ],
  'src/serve-scorer.ts': [
    'src/sources',
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/store/contracts',
    'src/ownership',
    'src/scoring',
    'src/jobs',
    'src/delivery',
    'src/api',
    'src/configuration.ts',
    'src/components.ts',
    'src/aggregates',
    'src/issues',
    'src/labels',
    'src/monitors',
    'src/process',
    'src/purge',
  ],
  'src/serve-control.ts': [
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/store/connection',
    'src/store/contracts',
    'src/api',
    'src/configuration.ts',
    'src/aggregates',
    'src/process',
    'src/purge',
    'src/serve-scorer.ts',
  ],
  'src/serve.ts': [
    'src/sources',
    'src/ownership',
    'src/serve-control.ts',
    'src/serve-scorer.ts',
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/store/connection',
    'src/store/contracts',
    'src/api',
    'src/configuration.ts',
    'src/components.ts',
    'collector',
    'src/aggregates',
    'src/process',
    'src/purge',
  ],
  'src/vitest.ts': [
    'src/domain',
    'src/config/environment.ts',
    'src/config/files/config-file.ts',
    'src/configuration.ts',
    'src/components.ts',
    'src/judge',
    'src/scorers',
    'src/scorers/evals',
    'src/scoring',
    'src/scoring/setup',
  ],
  'src/index.ts': ['src/domain', 'src/configuration.ts', 'src/serve.ts'],
  'src/cli': [
    'src/issues',
    'src/domain',
    'src/telemetry',
    'src/config',
    'src/store/contracts',
    'src/conventions',
    'src/judge',
    'src/scoring',
    'src/jobs',
    'src/labels',
    'src/purge',
    'src/sources',
    'src/monitors',
    'src/delivery',
    'src/api',
    'src/mcp',
    'src/configuration.ts',
    'src/components.ts',
    'src/serve.ts',
    'src/sources',
    'collector/otlp/decode-request.ts',
    'collector/otlp/row-pieces.ts',
    'src/aggregates',
    'src/backup',
    'src/process',
    'src/store/connection',
    'src/store/embedded/file-lock.ts',
  ],
  'src/cli/demo': [
    'src/domain',
    'src/telemetry',
    'src/serve.ts',
    'src/configuration.ts',
    'src/store/contracts',
    'src/store/connection',
  ],
};

/** Files of the store whose types every room with its contracts may import. */
const TYPES_OF_STORE = String.raw`^src/store/(?:store\.ts$|(?:foreign|jobs|lists|monitors|purge|scores|spans|sums|tables)/)`;

/** Libraries that one file imports. */
const ONE_FILE_LIBRARIES = [
  ['kafkajs', 'collector/receivers/kafka/kafkajs.ts'],
  ['compromise', 'src/scorers/prebuilt/completeness.ts'],
];

/** A path as a pattern: a folder stands for all files in it. */
function pattern(path) {
  const text = path.replaceAll('.', '\\.');
  return path.endsWith('.ts') ? `^${text}$` : `^${text}/`;
}

/** Throws for a folder of src without a row, for itself or for a room in it: a new room needs a rule. */
function requireRows(rooms) {
  const folders = readdirSync(new URL('src', import.meta.url), { withFileTypes: true });
  for (const folder of folders.filter((entry) => entry.isDirectory())) {
    if (!rooms.some(({ room }) => room === `src/${folder.name}` || room.startsWith(`src/${folder.name}/`))) {
      throw new Error(
        `src/${folder.name} has no row in ROOMS of .dependency-cruiser.mjs. Add one: the rooms that it may import.`,
      );
    }
  }
}

/** The rule of one room; a room inside it that has a row of its own follows that row alone. */
function ruleFor({ room, imports }, rooms) {
  const inner = rooms.map((other) => other.room).filter((name) => name.startsWith(`${room}/`));
  return {
    name: `imports-of-${room.replaceAll('/', '-').replace('.ts', '')}`,
    severity: 'error',
    from: { path: pattern(room), ...(inner.length === 0 ? {} : { pathNot: inner.map(pattern) }) },
    to: {
      path: ours,
      pathNot: [
        pattern(room),
        ...imports.map(pattern),
        ...(imports.includes('src/store/contracts') ? [TYPES_OF_STORE] : []),
      ],
    },
  };
}

const rooms = Object.entries(ROOMS).map(([room, imports]) => ({ room, imports }));
requireRows(rooms);

export default {
  forbidden: [
    {
      name: 'no-circular',
      comment:
        'A definition loads its part only when it creates it; the part reads its options from the definition.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['dynamic-import'] } },
    },
    ...rooms.map((room) => ruleFor(room, rooms)),
    {
      name: 'rooms-take-types-of-the-store',
      comment: 'Code of the store needs its client. A room gets a store from the part that opens it.',
      severity: 'error',
      from: {
        path: ours,
        pathNot: [
          '^src/store/',
          ...rooms
            .filter(({ imports }) => imports.includes('src/store/store.ts'))
            .map(({ room }) => pattern(room)),
        ],
      },
      to: { path: TYPES_OF_STORE, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'nothing-imports-the-cli',
      comment: 'The command line is a face of the program, never a part of another room.',
      severity: 'error',
      from: { path: ours, pathNot: '^src/cli/' },
      to: { path: '^src/cli/' },
    },
    {
      name: 'prebuilt-scorers-stand-alone',
      comment: 'A prebuilt scorer never imports another one.',
      severity: 'error',
      from: { path: '^src/scorers/prebuilt/', pathNot: '^src/scorers/prebuilt/(definitions|index)\\.ts$' },
      to: { path: '^src/scorers/prebuilt/', pathNot: '^src/scorers/prebuilt/definitions\\.ts$' },
    },
    {
      name: 'only-the-store-knows-clickhouse',
      comment: 'The ClickHouse client and the engine stay behind src/store.',
      severity: 'error',
      from: { path: ours, pathNot: '^src/store/' },
      to: { path: '(@clickhouse/client|node_modules/chdb)' },
    },
    ...ONE_FILE_LIBRARIES.map(([library, file]) => ({
      name: `only-one-file-imports-${library}`,
      comment: 'The file holds the workarounds for the exact version that package.json pins.',
      severity: 'error',
      from: { path: ours, pathNot: pattern(file) },
      to: { path: `node_modules/${library}/` },
    })),
    {
      name: 'not-to-dev-dep',
      comment:
        'Published code may not need a development dependency, unless its user installs it. The dashboard is published as files that hold its libraries.',
      severity: 'error',
      from: { path: ours, pathNot: '^src/dashboard/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    },
    {
      name: 'the-dashboard-takes-types-of-the-api',
      comment: 'Code of the server is not for browsers. The list of pages is: it imports nothing.',
      severity: 'error',
      from: { path: '^src/dashboard/' },
      to: {
        path: '^src/api/',
        pathNot: '^src/api/dashboard/page-paths\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
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
