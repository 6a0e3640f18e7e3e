import { type Job, jobCommands, listVariations, type Variation, type Vary } from '../../../../batch/index.ts';
import { parseJson } from '../../../flags/flag.ts';
import { hasTemplateVariable } from '../../../input/template-variables.ts';
import { isObject, type JsonValue, usageError } from '../../../../library/index.ts';
import {
  atPlace,
  jobFields,
  jobKeys,
  keysHint,
  getOwn,
  parseJobValue,
  repeatByCount,
  twins,
  unknownKey,
} from './job-line.ts';
import { findUses } from './references.ts';

/** The keys and values of all `--vary`. */
type VaryPairs = readonly (readonly [key: string, values: JsonValue[]])[];

/**
 * The jobs of one line: as many as its `count`, each with every variation. Throws GatewayError usage with its place for a key that
 * its command does not have.
 */
export function expandJob(job: Job, file: string, variations?: readonly Variation[]): Job[] {
  let jobs = job.values['count'] === undefined ? [job] : [...repeatByCount(job)];
  if (variations) jobs = jobs.flatMap((one) => variations.map((by, at) => varyJob(one, by, at, file)));
  return jobs.map((one) => {
    const uses = findUses(one);
    return uses ? { ...one, uses } : one;
  });
}

function varyJob(job: Job, { suffix, values: by }: Variation, at: number, file: string): Job {
  const values = { ...job.values };
  const table = jobKeys[job.command];
  for (const [key, value] of Object.entries(by)) {
    const rule = getOwn(table, key);
    if (!rule)
      throw atPlace(file, job, usageError(`--vary: ${unknownKey(key)} for ${job.command}`, keysHint(key, [table])));
    const twin = getOwn(twins, key);
    if (twin !== undefined) delete values[twin];
    const vars = key === 'vars' && isObject(value) && isObject(values[key]) && { ...values[key], ...value };
    values[key] = vars || parseJobValue(key, value, rule, ' of --vary');
  }
  const lineId = job.lineId ?? job.id;
  return { ...job, id: `${job.id}${suffix}`, lineId, name: job.name && `${job.name}-${at + 1}`, values };
}

/** Reads one `--vary`: a key of jobs and its values, separated by commas, or a JSON array of them. Throws GatewayError usage. */
export function parseVary(word: string, name: string): readonly [key: string, values: JsonValue[]] {
  const [, key = '', list = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
  const example = `for example: ${name} model=a,b`;
  if (list === '') throw usageError(`${name} takes <key>=<value>,<value>, not '${word.slice(0, 40)}'`, example);
  const rule = jobCommands.map((command) => getOwn(jobKeys[command], key)).find((found) => found !== undefined);
  if (key === 'count') throw usageError(`${name}: "count" makes several jobs already`, 'give it in the jobs');
  if (jobFields.has(key)) throw usageError(`${name}: "${key}" cannot vary`, `vary what is sent, ${example}`);
  if (!rule) throw usageError(`${name}: ${unknownKey(key)}`, keysHint(key, Object.values(jobKeys)));
  const words = list.trimStart().startsWith('[') ? parseJson(name, list) : list.split(',').map((value) => value.trim());
  const isSwitch = !rule.flags.includes('<');
  const values = (Array.isArray(words) ? words : []).map((value) =>
    isSwitch && (value === 'true' || value === 'false') ? value === 'true' : value,
  );
  for (const value of values)
    if (!hasTemplateVariable(JSON.stringify(value))) parseJobValue(key, value, rule, ' of --vary');
  const texts = new Set(values.map((value) => JSON.stringify(value)));
  if (texts.size === values.length && !values.includes('')) return [key, values];
  throw usageError(`${name} ${key}: a value is ${values.includes('') ? 'empty' : 'there twice'}`, example);
}

/** Writes a `--vary` in the form that `parseVary` reads. */
export function writeVary([key, values]: VaryPairs[number]): string {
  const isPlain = values.every((value) => typeof value === 'string' && /^[^\s,[][^\s,]*$/.test(value));
  return `${key}=${isPlain ? values.join(',') : JSON.stringify(values)}`;
}

/** The combinations of the values of `--vary`. Throws GatewayError usage for a key that is there twice. */
export function readVariations(vary: VaryPairs): Variation[] {
  return listVariations(readVary(vary));
}

/** The values of `--vary` by their keys. Throws GatewayError usage for a key that is there twice. */
export function readVary(vary: VaryPairs): Vary {
  const keys = vary.map(([key]) => key);
  const twice = keys.find((key, at) => keys.indexOf(key) !== at);
  if (twice !== undefined)
    throw usageError(`--vary ${twice} is given twice`, `give all its values at once: --vary ${twice}=a,b`);
  return Object.fromEntries(vary);
}
