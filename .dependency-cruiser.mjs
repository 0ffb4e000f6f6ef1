import { readdirSync, readFileSync } from 'node:fs';

// The import rules come from the table "Who may import what" of ARCHITECTURE.md: the page and the check cannot disagree.

const ours = '^(src|collector)/';
const architecture = readFileSync(new URL('ARCHITECTURE.md', import.meta.url), 'utf8');

/** Libraries that one file imports. */
const ONE_FILE_LIBRARIES = [
  ['kafkajs', 'collector/receivers/kafka/kafkajs.ts'],
  ['compromise', 'src/scorers/prebuilt/completeness/text-elements.ts'],
];

/** Reads the rows of the table: a room, and the rooms and files that it may import. */
function readRooms() {
  const section = /## Who may import what\n(.*?)\n## /s.exec(architecture)?.[1] ?? '';
  const rows = [...section.matchAll(/^\| `([^`]+)` \| (.*?) \|/gm)];
  if (rows.length === 0) {
    throw new Error('ARCHITECTURE.md has no table under "Who may import what".');
  }
  return rows.map(([, room, imports]) => ({
    room,
    imports: [...imports.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  }));
}

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
        `src/${folder.name} has no row in the table "Who may import what" of ARCHITECTURE.md. Add one: the rooms that it may import.`,
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
    to: { path: ours, pathNot: [pattern(room), ...imports.map(pattern)] },
  };
}

const rooms = readRooms();
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
