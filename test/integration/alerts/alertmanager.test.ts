import { describe } from 'vitest';
import { alertmanagerCases } from '../../support/alertmanager-cases.ts';
import { startFakeAlertmanager } from '../../support/fake-alertmanager.ts';

describe('an Alertmanager as its API is documented', () => {
  alertmanagerCases(startFakeAlertmanager);
});
