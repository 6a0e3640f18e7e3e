import { usageError } from '../../errors.ts';
import { isObject, type JsonObject } from '../../json.ts';
import { closest } from '../../settings/closest.ts';
import { shellWord } from '../../shell-word.ts';
import type { Context } from '../context.ts';
import { parseJson, quote, type Var } from '../flags/values.ts';
import { type Blanks, isName, plainName, valueText } from './blanks.ts';
import { readObjectFlag, readTextFlag } from './input-files.ts';
import type { TextPlaces } from './prompt.ts';

/** Flags that give blanks their values, as they were typed. */
export interface VarFlags {
  var?: Var[];
  /** A file, JSON, or the number of a row of test data; false: `--no-vars`. */
  vars?: string | JsonObject | false;
  places?: Pick<TextPlaces, 'testData'>;
}

/** The values of `--vars` and `--var`; undefined where nothing is to be filled. Throws GatewayError usage. */
export async function readBlanks(
  flags: VarFlags,
  context: Context,
  advice: Blanks['advice'] = flags.places?.testData === undefined ? adviseFlag : adviseRow,
): Promise<Blanks | undefined> {
  const { var: single = [], vars } = flags;
  if (vars === false) {
    if (single.length > 0) throw usageError('--var and --no-vars are both given', 'keep one of them');
    return undefined;
  }
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(vars === undefined ? {} : await readVars(vars, context)))
    values.set(plainName(name), valueText(value));
  for (const { name, value, file } of single) {
    if (!isName(name))
      throw usageError(
        `--var: a blank cannot be named ${quote(name)}`,
        'a name begins with a letter or _, and has letters, digits, _, -, . and single spaces',
      );
    values.set(name, file === undefined ? value : await readTextFlag(`--var ${name}`, file, context));
  }
  return { values, used: new Set(), advice };
}

async function readVars(vars: string | JsonObject, context: Context): Promise<JsonObject> {
  if (typeof vars !== 'string') return vars;
  if (/^\d+$/.test(vars))
    throw usageError(
      `--vars ${vars} is a row of testData, and only a .prompt.yml file has those`,
      'for example: --prompt-file summary.prompt.yml --vars 1',
    );
  if (!/^\s*[{["]/.test(vars)) return readObjectFlag('--vars', vars, context);
  const value = parseJson('--vars', vars);
  if (isObject(value)) return value;
  throw usageError('--vars takes a JSON object', `for example: --vars '{"city":"Rome"}'`);
}

/** Tells of each `--var` that no blank asked for: its name may be wrong. */
export async function warnOfUnused(
  { var: single = [] }: VarFlags,
  blanks: Blanks | undefined,
  { ui }: Context,
): Promise<void> {
  for (const { name } of single) {
    if (blanks === undefined || blanks.used.has(name)) continue;
    const near = closest(name, [...blanks.used]);
    const rest = near === undefined ? '' : `; the nearest blank is {{${near}}}`;
    await ui.warn(`--var ${quote(name)} fills no blank${rest}`);
  }
}

function adviseRow(name: string): string {
  return `take the values of a row of its testData: --vars 1\n${adviseFlag(name)}`;
}

function adviseFlag(name: string): string {
  const word = /^[\w.-]+$/.test(name) ? `${name}=…` : shellWord(`${name}=…`);
  return `give it a value: --var ${word}\nto send {{…}} unchanged: --no-vars`;
}
