import { describe } from 'vitest';
import { alertmanagerCases } from '../../../support/monitors/alertmanager-cases.ts';
import { startFakeAlertmanager } from '../../../support/fakes/fake-alertmanager.ts';

describe('an Alertmanager as its API is documented', () => {
  alertmanagerCases(startFakeAlertmanager, 1_000);
});
