import type { JsonValue } from '../../json.ts';
import { writeProse } from './prose.ts';
import { instanceOf } from './schema-instance.ts';
import type { Draft, TextTask, ToolOffer } from './task.ts';
import { countTokens, cutToTokens, tokensPerImage } from './tokens.ts';

const thoughts = 'The offline model does not think; it only shows where thoughts appear.';

/** The answer of an offline text model; `variant` makes the candidates of one request differ. */
export function draftAnswer(task: TextTask, variant = 0): Draft {
  const seed = [task.model, task.system, ...task.earlier, task.prompt, task.seed, variant].join('\n');
  const thinking = task.thinking ? limit(thoughts, task.maxTokens) : undefined;
  const spent = countTokens(thinking ?? '');
  const left = task.maxTokens === undefined ? Infinity : task.maxTokens - spent;
  const tool = left > 0 ? chooseTool(task) : undefined;
  const { text, tokens, ...answer } = tool ? callTool(tool, left, seed) : writeText(task, left, seed);
  const parts = text === '' ? [] : [{ text }];
  return { ...answer, thinking, parts, usage: { thinking: spent, answer: tokens } };
}

interface Written extends Pick<Draft, 'call' | 'ended' | 'stopSequence'> {
  text: string;
  tokens: number;
}

/** Input tokens of a task: everything it says, and its media. */
export function countInput({ prompt, system = '', earlier, media, toolResults, tools }: TextTask): number {
  const texts = [prompt, system, ...earlier, ...toolResults.map((result) => result.text)];
  const offers = tools.map(({ name, schema }) => `${name}${schema === undefined ? '' : JSON.stringify(schema)}`);
  const tokens = [...texts, ...offers].reduce((sum, text) => sum + countTokens(text), 0);
  return Math.max(1, tokens + media.length * tokensPerImage);
}

/** A program may run the call, so it has the required arguments alone. */
function callTool(tool: ToolOffer, left: number, seed: string): Written {
  const input = instanceOf(tool.schema ?? {}, { seed, optional: false });
  const tokens = countTokens(tool.name) + countTokens(JSON.stringify(input));
  const rest = { text: '', stopSequence: undefined };
  if (tokens > left) return { ...rest, call: undefined, ended: 'max-tokens', tokens: left };
  return { ...rest, call: { name: tool.name, input }, ended: 'call', tokens };
}

function writeText(task: TextTask, left: number, seed: string): Written {
  const whole = writeAnswer(task, seed);
  const stop = firstStop(whole, task.stop);
  const stopped = stop === undefined ? whole : whole.slice(0, stop.at);
  const text = limit(stopped, Math.max(0, left));
  const rest = { text, call: undefined, tokens: countTokens(text) };
  if (text.length < stopped.length) return { ...rest, ended: 'max-tokens', stopSequence: undefined };
  if (stop) return { ...rest, ended: 'stop-sequence', stopSequence: stop.sequence };
  return { ...rest, ended: 'end', stopSequence: undefined };
}

function writeAnswer(task: TextTask, seed: string): string {
  if (task.schema !== undefined) {
    const value = instanceOf(task.schema, { seed, optional: true });
    return task.json ? JSON.stringify(value) : plain(value);
  }
  if (task.json) return JSON.stringify({ offline: true, model: task.model, prompt: task.prompt });
  return writeProse(task, seed);
}

function plain(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The tool to call: a demanded one, or one that the prompt names, unless its result is already there. */
function chooseTool({ tools, choice, prompt, toolResults }: TextTask): ToolOffer | undefined {
  if (choice.mode === 'none') return undefined;
  const allowed = tools.filter(({ name }) => choice.names === undefined || choice.names.includes(name));
  const meant = allowed.find(({ name }) => names(prompt, name));
  if (choice.mode === 'any') return meant ?? allowed[0];
  return toolResults.length > 0 ? undefined : meant;
}

/** Verbs that a question leaves out: `get_weather` is named by "the weather". */
const verbs = new Set(['get', 'fetch', 'find', 'lookup', 'show']);

/**
 * Whether a prompt names a tool: each word of its name is there. A name of one word must be spelled as it is, and not begin a
 * sentence: "Write a poem" names no tool `Write`.
 */
function names(prompt: string, tool: string): boolean {
  const words = wordsOf(tool);
  if (words.length > 1) {
    const said = new Set(wordsOf(prompt));
    return words.every((word, index) => said.has(word) || (index === 0 && verbs.has(word)));
  }
  const places = [...prompt.matchAll(/[\p{L}\p{N}]+/gu)].filter(([word]) => word === tool);
  return places.some(({ index }) => !/^\p{Lu}/u.test(tool) || /[^\s.!?:]\s*$/.test(prompt.slice(0, index)));
}

function wordsOf(text: string): string[] {
  return text
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

function limit(text: string, tokens = Infinity): string {
  return tokens === Infinity ? text : cutToTokens(text, tokens);
}

function firstStop(text: string, stops: readonly string[]): { at: number; sequence: string } | undefined {
  const found = stops.filter((stop) => stop !== '').map((sequence) => ({ at: text.indexOf(sequence), sequence }));
  return found.filter(({ at }) => at !== -1).sort((one, other) => one.at - other.at)[0];
}
