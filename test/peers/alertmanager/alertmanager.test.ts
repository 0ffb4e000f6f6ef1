import { describe } from 'vitest';
import { alertmanagerProgram, startAlertmanager } from '../../support/collector/alertmanager.ts';
import { alertmanagerCases } from '../../support/monitors/alertmanager-cases.ts';

const program = await alertmanagerProgram();

describe.skipIf('missing' in program)('a real Alertmanager', () => {
  alertmanagerCases(
    (webhookUrl) => startAlertmanager('binary' in program ? program.binary : '', webhookUrl),
    2_500,
  );
});
