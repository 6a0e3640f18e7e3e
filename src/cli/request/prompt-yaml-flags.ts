import { usageError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { closest } from '../../closest.ts';
import type { Context } from '../context.ts';
import { settingFor } from '../flags/set.ts';
import { decimal, notEmpty, quote, whole } from '../flags/flag.ts';
import { readTextFlag } from '../input/input-files.ts';
import { parsePromptYaml, type PromptYaml } from '../input/prompt-yaml.ts';
import type { RequestFlags } from './build-request.ts';

/** What a prompt file can say in the place of flags. */
export type PromptYamlFlags = RequestFlags & { model?: string };

/** Where a prompt file is. */
export interface PromptYamlUse {
  context: Context;
  /** `image gen` */
  command: string;
}

/** The typed flags with what their prompt file says in its place. Throws GatewayError usage. */
export async function readPromptYaml(
  promptFile: string,
  typed: Omit<PromptYamlFlags, 'promptFile'>,
  { context, command }: PromptYamlUse,
): Promise<PromptYamlFlags> {
  const place = `--prompt-file ${quote(promptFile)}`;
  const file = await parsePromptYaml(await readTextFlag('--prompt-file', promptFile, context), place);
  if (file.hasEvaluators) await context.ui.detail(`${place}: evaluators are not used`);
  return mergePromptYaml(typed, file, { place, command });
}

/** The same for a file that was read already. Throws GatewayError usage. */
export function mergePromptYaml(
  typed: Omit<PromptYamlFlags, 'promptFile'>,
  file: PromptYaml,
  use: { place: string; command: string },
): PromptYamlFlags {
  const { system, model } = file;
  const { vars, systemFile, schema, responseMime } = typed;
  return {
    ...(model !== undefined && { model }),
    ...(system !== undefined && systemFile === undefined && { system }),
    ...(schema === undefined && responseMime === undefined && formatFlags(file, use)),
    ...parameterFlags(file.parameters, use),
    ...turnFlags(file),
    ...typed,
    ...(typeof vars === 'string' && /^\d+$/.test(vars) && { vars: rowAt(Number(vars), file, use.place) }),
    places: placesOf(typed, file, use.place),
  };
}

function placesOf(
  { system, systemFile, model, vars }: PromptYamlFlags,
  { rows }: PromptYaml,
  place: string,
): NonNullable<PromptYamlFlags['places']> {
  const own = system === undefined && systemFile === undefined;
  return {
    prompt: place,
    turns: `${place}: messages`,
    ...(own && { system: place }),
    ...(model === undefined && { model: place }),
    ...(vars === undefined && rows.length > 0 && { testData: place }),
  };
}

/** The last turn is the prompt, if it is a person's: inputs and stdin join it. */
function turnFlags({ turns }: PromptYaml): PromptYamlFlags {
  const last = turns.at(-1);
  const prompt = last?.role === 'user' ? last.content : undefined;
  const earlier = prompt === undefined ? turns : turns.slice(0, -1);
  return { ...(prompt !== undefined && { prompt }), ...(earlier.length > 0 && { turns: earlier }) };
}

function formatFlags(
  { format, schema }: PromptYaml,
  { place, command }: { place: string; command: string },
): PromptYamlFlags {
  if (format === 'text') return {};
  const isSchema = format === 'json_schema';
  if (command.startsWith('image') || (command === 'chat' && !isSchema))
    throw usageError(
      `${place}: gateway-cli ${command} has no responseFormat ${format}`,
      command === 'chat' ? 'use json_schema, or gateway-cli text' : 'take it out of the file',
    );
  return schema === undefined ? { responseMime: 'application/json' } : { schema };
}

type Reader = (value: JsonValue, name: string) => PromptYamlFlags;

const number =
  (read: (word: string, name: string) => number, key: 'maxTokens' | 'temperature' | 'topP' | 'topK' | 'seed'): Reader =>
  (value, name) => ({ [key]: read(String(value), name) });

const parameters: Readonly<Record<string, Reader>> = {
  maxTokens: number(whole(1), 'maxTokens'),
  maxCompletionTokens: number(whole(1), 'maxTokens'),
  temperature: number(decimal, 'temperature'),
  topP: number(decimal, 'topP'),
  topK: number(whole(0), 'topK'),
  seed: number(whole(-(2 ** 31), 2 ** 31 - 1), 'seed'),
  stop: (value, name) => ({
    stop: (Array.isArray(value) ? value : [value]).map((word) => notEmpty(String(word), name)),
  }),
};

function parameterFlags(given: JsonObject, { place, command }: { place: string; command: string }): PromptYamlFlags {
  const flags: PromptYamlFlags = {};
  for (const [key, value] of Object.entries(given)) {
    const read =
      Object.hasOwn(parameters, key) && !(key === 'seed' && command === 'chat') ? parameters[key] : undefined;
    if (read === undefined) throw unsupported(key, { place, command });
    Object.assign(flags, read(value, `${place}: ${key}`));
  }
  return flags;
}

function unsupported(key: string, { place, command }: { place: string; command: string }): Error {
  const near = closest(key, Object.keys(parameters));
  const setting = settingFor(key, command);
  const instead = setting === undefined ? '' : `, and type ${setting}`;
  return usageError(
    `${place}: gateway-cli ${command} has no model parameter ${quote(key)}`,
    near === undefined || near === key ? `take it out of the file${instead}` : `did you mean: ${near}`,
  );
}

function rowAt(row: number, { rows }: PromptYaml, place: string): JsonObject {
  const found = rows[row - 1];
  if (found) return found.values;
  throw usageError(
    `--vars ${row}: ${place} has ${rows.length === 0 ? 'no testData' : `testData rows 1 to ${rows.length}`}`,
    rows.length === 0 ? 'give values: --vars \'{"input":"…"}\'' : 'for example: --vars 1',
  );
}
