/**
 * Measures a judge with the scorers of rules, on items whose label is known. Without a judge, `--count-tokens` measures the questions.
 * `node test/bench/judges.ts --judge openai/gpt-5-mini [--items FILE.jsonl] [--scorers a,b] [--config spanscore.yaml] [--concurrency 4]`
 * `node test/bench/judges.ts --count-tokens [--freeze]`
 */
import { benchJudges } from './judges/bench-judges.ts';

process.exitCode = await benchJudges(process.argv.slice(2));
