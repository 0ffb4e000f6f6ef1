// Builds what tests run of other projects: `.ci/run` starts it, so that the programs are ready when the tests ask for them.
import { goProgram, PROGRAMS } from '../support/processes/go-program.ts';

for (const name of Object.keys(PROGRAMS)) {
  await goProgram(name as keyof typeof PROGRAMS);
}
