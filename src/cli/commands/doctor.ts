import { EXPORTERS, RECEIVERS } from '../../components.ts';
import { outboundFetch } from '../../delivery/http/proxies.ts';
import {
  type CheckResult,
  checkConfigFile,
  checkEngine,
  checkJudge,
  checkLoops,
  checkNode,
  checkPorts,
  checkStore,
  NO_JUDGE,
  probeJudges,
} from '../checks/doctor-checks.ts';
import { checkTools } from '../checks/tool-checks.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';

export const registerDoctor: RegisterCommand = (program, bind) => {
  withExamples(program.command('doctor'), [
    ['all checks', 'spanscore doctor'],
    ['with a real call to each judge', 'spanscore doctor --judge'],
    ['one line a judge, then all checks', 'spanscore doctor --judge --json'],
  ])
    .option('--judge', 'also ask each judge two short questions (costs a few tokens)')
    .action(bind(doctor));
};

async function doctor(context: CommandContext, options: { judge?: boolean }): Promise<ExitCode> {
  const loaded = await context.loadConfig();
  const { config } = loaded;
  const deps = { log: context.log, fetch: outboundFetch };
  const probed = options.judge === true ? await probeJudges(config) : [];
  const judges = probed.map(({ check }) => check);
  if (judges.length === 0) {
    judges.push(options.judge === true ? NO_JUDGE : await checkJudge(config, deps));
  }
  if (context.out.json) {
    await context.out.list(
      probed.map(({ probe }) => probe),
      () => '',
    );
  }
  const results: CheckResult[] = [
    checkNode(process.version),
    checkConfigFile(loaded),
    checkEngine(config),
    ...(await checkPorts(config, RECEIVERS)),
    ...(await checkStore(config, deps)),
    ...judges,
    checkLoops(config, EXPORTERS),
    ...(await checkTools(config, context.log)),
  ];
  const failed = results.filter((result) => result.status === 'failed');
  await context.out.document({ ok: failed.length === 0, checks: results }, () =>
    results.map(show).join('\n'),
  );
  if (failed.length === 0) {
    return EXIT.done;
  }
  return failed.some((result) => result.check === 'node') ? EXIT.failed : EXIT.unavailable;
}

function show(result: CheckResult): string {
  const mark = { ok: '✓', warning: '!', failed: '✗' }[result.status];
  const fix = result.fix === undefined ? '' : `\n    → ${result.fix}`;
  return `${mark} ${result.check}: ${result.detail}${fix}`;
}
