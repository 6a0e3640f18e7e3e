import { dirname, resolve } from 'node:path';
import type { Job, Variation } from '../../../../batch/index.ts';
import { GatewayError, isObject, type JsonObject, shellWord, usageError } from '../../../../library/index.ts';
import type { Context } from '../../../context.ts';
import { quoteWord } from '../../../flags/flag.ts';
import {
  type TableRowUse,
  type TemplateValues,
  fillLeaves,
  normalizeVariableName,
  splitVariables,
  toTemplateText,
} from '../../../input/template-variables.ts';
import { readTextFlag } from '../../../input/input-files.ts';
import { isPromptYaml } from '../../../request/prompt-flags.ts';
import { mergePromptYaml, openPromptYaml, type PromptYaml } from '../../../request/prompt-yaml.ts';
import { type DataFile, chooseRowId, openData } from './data-rows.ts';
import type { SourceFlags } from '../flags.ts';
import { atPlace, type Defaults, idWords, isJobId, readJobObject, requireTakers } from './job-line.ts';
import type { JobSource } from './source.ts';
import { expandJob, readVariations } from './vary.ts';

/** The text that every row fills. */
interface Template {
  place: string;
  /** The prompt, or the content of a prompt file. */
  content: string | PromptYaml;
}

/** Opens the jobs of rows, one a row: its columns fill the template and the default values. Throws GatewayError usage. */
export async function openRowJobs(
  { prompt, ...flags }: SourceFlags & { prompt: string | undefined },
  defaults: Defaults,
  context: Context,
): Promise<JobSource> {
  const named = flags.template === undefined ? undefined : await readTemplate(flags.template, context);
  const template = prompt === undefined ? named : { place: 'the prompt after batch', content: prompt };
  requirePrompt(template, { ...defaults, values: { ...Object.fromEntries(flags.vary ?? []), ...defaults.values } });
  requireTakers(defaults, new Set([defaults.command]));
  const variations = flags.vary && readVariations(flags.vary);
  const data =
    flags.data === undefined
      ? testData(template as Template, flags, context)
      : await openData(flags.data, flags, context);
  const shared = { defaults, variations };
  let withoutPrompt = 0;
  return {
    name: data.name,
    get emptyRows() {
      return (data.emptyRows ?? 0) + withoutPrompt;
    },
    lineForm: 'a header line, then one row per line; or a JSON array of objects',
    folder: data.folder,
    adviseVariable: adviseTemplateVariable,
    async *jobs(onFault) {
      withoutPrompt = 0;
      for await (const { id, line, place, number, columns } of data.rows(onFault)) {
        let jobs: Job[] = [];
        try {
          if (flags.idColumn !== undefined && !isJobId(id))
            throw usageError(
              `--id-column: the value of ${quoteWord(flags.idColumn)} is not an id: an id is ${idWords}, such as line breaks`,
              'name another column, or none: rows that move are known by what was sent',
            );
          const { row, ...filled } = fillShared(shared, columns);
          const rules = { file: data.name, place, defaults: filled.defaults };
          const job = intoTemplate(readJobObject(row ? { id, vars: columns } : { id }, line, rules), template, flags);
          const values = row ? { ...job.values, row } : job.values;
          const numbered = { ...job, place, number, values, isNumbered: flags.idColumn === undefined };
          const all = expandJob(numbered, data.name, filled.variations);
          jobs = all.filter(({ values: { prompt } }) => !row || hasText(prompt, columns));
          if (jobs.length < all.length) withoutPrompt++;
        } catch (error) {
          const hasPlace = error instanceof GatewayError && error.message.startsWith(`${data.name}:`);
          onFault(hasPlace ? error : atPlace(data.name, { line, place }, error));
        }
        for (const job of jobs) yield job;
      }
    },
  };
}

/** Whether a prompt has text once its columns are filled. A prompt of nothing but template variables could not be sent with empty columns. */
function hasText(prompt: unknown, columns: JsonObject): boolean {
  if (typeof prompt !== 'string') return true;
  const { rest, names } = splitVariables(prompt);
  if (rest.trim() !== '' || names.length === 0) return true;
  const empty = Object.entries(columns).filter(([, value]) => toTemplateText(value).trim() === '');
  const isEmpty = new Set(empty.map(([name]) => normalizeVariableName(name)));
  return names.some((name) => !isEmpty.has(name));
}

async function readTemplate(path: string, context: Context): Promise<Template> {
  if (isPromptYaml(path)) return openPromptYaml('--template', path, context);
  return { place: `--template ${quoteWord(path)}`, content: await readTextFlag('--template', path, context) };
}

/** The rows of the prompt file itself. */
function testData(
  { content, place }: Template,
  { template = '', idColumn, dataFormat }: SourceFlags,
  { io }: Context,
): DataFile {
  if (dataFormat !== undefined) throw usageError('--data-format is for --data', 'add --data <file>');
  if (typeof content === 'string' || content.rows.length === 0)
    throw usageError(`${place} has no testData`, 'name a file of rows: --data rows.csv');
  const { rows } = content;
  return {
    name: template,
    folder: dirname(resolve(io.cwd, template)),
    async *rows() {
      for (const [at, { line, values }] of rows.entries())
        yield { line, number: at + 1, columns: values, id: chooseRowId(values, at + 1, idColumn) };
    },
  };
}

function requirePrompt(template: Template | undefined, { values }: Defaults): void {
  const given = ['prompt', 'promptFile'].find((key) => Object.hasOwn(values, key));
  if (template !== undefined && given !== undefined)
    throw usageError(`the prompt is given twice: ${template.place} and "${given}" of --defaults`, 'keep one of them');
  const others = ['contents', 'messages', 'body'];
  if (template !== undefined || given !== undefined || others.some((key) => Object.hasOwn(values, key))) return;
  throw usageError(
    '--data needs a prompt to put its rows into',
    `for example: gateway-cli batch --data rows.csv -o out 'a slogan for {{name}}', or --template prompt.md`,
  );
}

/** The parts that rows share. */
interface Shared {
  defaults: Defaults;
  variations: readonly Variation[] | undefined;
  /** Undefined if no template variable is filled. */
  row?: TableRowUse;
}

/** The shared parts with the columns of one row in them. */
function fillShared({ defaults, variations }: Shared, columns: JsonObject): Shared {
  const { values } = defaults;
  if (values['vars'] === false) return { defaults, variations };
  const names = Object.keys(columns);
  const vars = Object.entries(isObject(values['vars']) ? { ...values['vars'], ...columns } : columns);
  const templateValues = {
    values: new Map(vars.map(([name, value]) => [normalizeVariableName(name), toTemplateText(value)])),
    used: new Set<string>(),
    advice: adviseTemplateVariable,
    isRow: true,
  };
  return {
    defaults: { ...defaults, values: fillKeys(values, '--defaults', templateValues) },
    variations: variations?.map((one) => ({ ...one, values: fillKeys(one.values, '--vary', templateValues) })),
    row: { columns: names, isUsed: names.some((name) => templateValues.used.has(normalizeVariableName(name))) },
  };
}

/** Keys of texts whose template variables are filled when the request is built. */
const filledLater = new Set(['prompt', 'system', 'vars']);

function fillKeys(values: Readonly<JsonObject>, flag: string, templateValues: TemplateValues): JsonObject {
  const filled = Object.entries(values).map(([key, value]) => {
    const isTurns = (key === 'contents' || key === 'messages') && typeof value !== 'string';
    const isLater = filledLater.has(key) || isTurns;
    return [key, isLater ? value : fillLeaves(value, `"${key}" of ${flag}`, templateValues)] as const;
  });
  return Object.fromEntries(filled);
}

function adviseTemplateVariable(name: string): string {
  const shared = `--defaults ${shellWord(`{"vars":{${JSON.stringify(name)}:"…"}}`)}`;
  return `add a column ${quoteWord(name)}, or a value for all rows: ${shared}\nto send {{…}} unchanged: --no-vars`;
}

function intoTemplate(job: Job, template: Template | undefined, { model }: SourceFlags): Job {
  if (template === undefined) return job;
  const { content, place } = template;
  if (typeof content === 'string')
    return { ...job, values: { ...job.values, prompt: content, places: { prompt: place } } };
  const typed = { ...(model !== undefined && { model }), ...job.values };
  return { ...job, values: { ...mergePromptYaml(typed, content, { place, command: job.command }) } };
}
