import { parseVariedId, type ReportRow, type RowBlocks, type Variation } from '../../../batch/index.ts';
import { usesText } from './jobs/references.ts';

/** The file of promptfoo, with a test for each job that shows an answer. */
export async function* promptfooReport(
  rows: RowBlocks,
  { name, variations }: { name: string; variations: readonly Variation[] },
): AsyncGenerator<string, void> {
  const providers = variations.map(({ label }) => ({ id: 'echo', label: label || name }));
  const head = toLiteral({ description: `gateway-cli batch: ${name}`, providers });
  yield `${head.slice(0, -1)},"prompts":["{{prompt}}"],"tests":[`;
  const testOf = (row: ReportRow): string =>
    toLiteral(toTest(row, parseVariedId(row.id, variations)?.variation.label ?? name));
  let separator = '\n';
  for await (const block of rows) {
    const tests = block.filter(({ state, version }) => state === 'done' || version === 'outdated').map(testOf);
    if (tests.length === 0) continue;
    yield separator + tests.join(',\n');
    separator = ',\n';
  }
  yield '\n]}\n';
}

/**
 * The places in which promptfoo would take a text, in JSON, as a template, a file, a package or a reference. It reads variables of
 * the environment and runs code so: `renderPrompt`, `renderEnvOnlyInObject` and `dereferenceConfig` of promptfoo 0.121.20 (2026).
 * Not all of these render a text, so none of its marks can be quoted; a zero-width space takes them apart.
 */
const promptfooMark = /(?<=\{)(?=[{%#])|(?<=(?<!\\)"(?:file|package))(?=:)|(?<=(?<!\\)"\$)(?=ref")/gi;

function toLiteral(value: object): string {
  return JSON.stringify(value).replaceAll(promptfooMark, '\u200b');
}

/**
 * The providers of the file are the variations, and each test has an answer of this batch as `providerOutput`, so that nothing is
 * sent and its assertions hold for the paid answer. Its keys: `TestCaseSchema` in src/types/index.ts of promptfoo/promptfoo at
 * 0011eb02 (2026).
 */
function toTest({ id, vars, prompt, answer, text = '', images, ...row }: ReportRow, label: string): object {
  const { cost, usage, durationMs } = row;
  // If the prompt has the text of another job, only its template is known.
  const known = prompt === undefined || usesText(prompt) ? {} : { prompt };
  const filled = Object.entries({ ...vars, ...known }).filter(([, value]) => value !== null && value !== undefined);
  return {
    description: id,
    vars: Object.fromEntries(filled),
    providers: [label],
    providerOutput: answer === undefined ? text || images.join('\n') : JSON.stringify(answer),
    options: { disableVarExpansion: true },
    metadata: { id, cost, usage, durationMs },
  };
}
