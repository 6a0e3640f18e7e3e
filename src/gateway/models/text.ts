import { createInstance } from './schema-instance.ts';
import {
  type Candidate,
  type TextTask,
  type ModelCall,
  type ToolOffer,
  estimateTokens,
  cutToTokens,
  tokensPerImage,
} from './task.ts';
import { createRandom } from './random.ts';
import { append } from '../../library/index.ts';

const thoughts = 'The offline model does not think; it only shows where thoughts appear.';

/** A candidate of an offline text model; `variant` makes the candidates of one request differ. */
export function writeCandidate(task: TextTask, variant = 0): Candidate {
  const seed = [task.model, task.system, ...task.earlier, task.prompt, task.seed, variant].join('\n');
  const thinking = task.thinking ? cutToTokens(thoughts, task.maxTokens) : undefined;
  const spent = estimateTokens(thinking ?? '');
  const left = task.maxTokens === undefined ? Infinity : task.maxTokens - spent;
  const tool = left > 0 ? chooseTool(task) : undefined;
  const { text, tokens, call, ended, stopSequence } = tool ? callTool(tool, left) : writeText(task, left, seed);
  const parts = text === '' ? [] : [{ text }];
  return { calls: call && [call], ended, stopSequence, thinking, parts, usage: { thinking: spent, answer: tokens } };
}

interface Written extends Pick<Candidate, 'ended' | 'stopSequence'> {
  call?: ModelCall;
  text: string;
  tokens: number;
}

/** Input tokens of a task: of all its texts, and its media. */
export function countInput({ prompt, system = '', earlier, media, toolResults, tools }: TextTask): number {
  const texts = [prompt, system, ...earlier, ...toolResults.map((result) => result.text)];
  const offers = tools.map(({ name, schema }) => `${name}${schema === undefined ? '' : JSON.stringify(schema)}`);
  const tokens = [...texts, ...offers].reduce((sum, text) => sum + estimateTokens(text), 0);
  return Math.max(1, tokens + media.length * tokensPerImage);
}

/** A program may run the call, so it has only the required arguments. */
function callTool(tool: ToolOffer, left: number): Written {
  const input = createInstance(tool.schema ?? {}, { optional: false });
  const tokens = estimateTokens(tool.name) + estimateTokens(JSON.stringify(input));
  if (tokens > left) return { text: '', ended: 'max-tokens', tokens: left };
  return {
    text: '',
    call: { name: tool.name, input, ...(tool.isCustom && { isCustom: true }) },
    ended: 'call',
    tokens,
  };
}

function writeText(task: TextTask, left: number, seed: string): Written {
  const whole = writeAnswer(task, seed);
  const stop = firstStop(whole, task.stop);
  const stopped = stop === undefined ? whole : whole.slice(0, stop.at);
  const text = cutToTokens(stopped, Math.max(0, left));
  const tokens = estimateTokens(text);
  if (text.length < stopped.length) return { text, tokens, ended: 'max-tokens' };
  if (stop) return { text, tokens, ended: 'stop-sequence', stopSequence: stop.sequence };
  return { text, tokens, ended: 'end' };
}

function writeAnswer(task: TextTask, seed: string): string {
  if (task.schema !== undefined) {
    const value = createInstance(task.schema, { optional: true });
    return typeof value === 'string' && !task.json ? value : JSON.stringify(value);
  }
  if (task.json) return JSON.stringify({ offline: true, model: task.model, prompt: task.prompt });
  return writeProse(task, seed);
}

function listAllowed({ tools, choice: { names } }: Pick<TextTask, 'tools' | 'choice'>): ToolOffer[] {
  return tools.filter(({ name }) => names === undefined || names.includes(name));
}

/** The text for the log if a call is demanded that no offline model makes. */
export function describeUncalled({ tools, choice }: TextTask): string | undefined {
  if (choice.mode !== 'any' || listAllowed({ tools, choice }).length > 0) return undefined;
  const wanted = choice.names?.join(', ').slice(0, 100) ?? 'a tool';
  return `no call of ${wanted}, though it is required: the offline models call only what the caller runs`;
}

/** The tool to call: a demanded one, or a tool that the prompt names, unless its result is already there. */
function chooseTool({ tools, choice, prompt, toolResults }: TextTask): ToolOffer | undefined {
  if (choice.mode === 'none') return undefined;
  const allowed = listAllowed({ tools, choice });
  const meant = allowed.find(({ name }) => names(prompt, name));
  if (choice.mode === 'any') return meant ?? allowed[0];
  return toolResults.length > 0 ? undefined : meant;
}

/** Verbs that a question leaves out: `get_weather` is named by "the weather". */
const silentVerbs = new Set(['get', 'fetch', 'find', 'lookup', 'show']);

/**
 * Whether a prompt names a tool: each word of its name is there. A name of one word must be spelled as it is, and not begin a
 * sentence: "Write a poem" names no tool `Write`.
 */
function names(prompt: string, tool: string): boolean {
  const words = extractWords(tool);
  if (words.length > 1) {
    const said = new Set(extractWords(prompt));
    return words.every((word, index) => said.has(word) || (index === 0 && silentVerbs.has(word)));
  }
  const places = [...prompt.matchAll(/[\p{L}\p{N}]+/gu)].filter(([word]) => word === tool);
  return places.some(({ index }) => !/^\p{Lu}/u.test(tool) || /[^\s.!?:]\s*$/.test(prompt.slice(0, index)));
}

function extractWords(text: string): string[] {
  return text
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

function firstStop(text: string, stops: readonly string[]): { at: number; sequence: string } | undefined {
  const found = stops.filter((stop) => stop !== '').map((sequence) => ({ at: text.indexOf(sequence), sequence }));
  return found.filter(({ at }) => at !== -1).sort((one, other) => one.at - other.at)[0];
}

const excerptLength = 600;
const maxWords = 20_000;

const remarks = [
  'A real model would now say something useful; this one only shows that your script works.',
  'Set a base URL and a key, and a model will answer this in earnest.',
  'The same request gets the same answer here, so a test can rely on it.',
  'Nothing was billed, and nothing will be.',
  'Ask again with other words, and these lines will differ a little.',
  'Streaming, stop sequences and token limits work here as they do on the wire.',
] as const;

const subjects = [
  'The lamp',
  'A small boat',
  'The tide',
  'An old map',
  'The lighthouse keeper',
  'A paper kite',
] as const;
const verbs = ['waits for', 'remembers', 'passes', 'follows', 'answers', 'outlives'] as const;
const objects = [
  'the evening',
  'a distant bell',
  'the harbour',
  'every visitor',
  'the long winter',
  'its own shadow',
] as const;

/** A text that says that the model is offline, repeats its input, and has as many words as the prompt asks for. */
function writeProse(task: TextTask, seed: string): string {
  const random = createRandom(seed);
  const paragraphs = [
    `This is the offline model ${task.model}; no gateway was asked.`,
    ...earlierSentences(task),
    ...inputSentences(task),
    random.pick(remarks),
  ];
  // `500 words` in a prompt asks for a long answer.
  const [, count = 0] = /\b(\d{1,6}) words\b/i.exec(task.prompt.slice(0, excerptLength)) ?? [];
  const wanted = Math.min(Number(count), maxWords);
  for (let words = wanted && countWords(paragraphs.join(' ')); words < wanted;) {
    const sentence = `${random.pick(subjects)} ${random.pick(verbs)} ${random.pick(objects)}.`;
    words += countWords(sentence);
    paragraphs.push(sentence);
  }
  return paragraphs.join(' ');
}

function earlierSentences({ system, earlier }: TextTask): string[] {
  const said: string[] = [];
  if (system !== undefined && system !== '') said.push(`The system instruction says “${shortenText(system)}”.`);
  const last = earlier.at(-1);
  if (last !== undefined) said.push(`This is turn ${earlier.length + 1}; before it you wrote “${shortenText(last)}”.`);
  return said;
}

function inputSentences({ prompt, media, toolResults }: TextTask): string[] {
  const sentences = toolResults.map(({ name, text }) => `The tool ${name} returned “${shortenText(text)}”.`);
  if (prompt !== '') sentences.push(`You wrote “${shortenText(prompt)}”.`);
  append(
    sentences,
    media.map(({ mimeType, bytes }) => `With it came a file of type ${mimeType} (${bytes.length} bytes).`),
  );
  return sentences;
}

function countWords(text: string): number {
  return text.split(' ').length;
}

function shortenText(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= excerptLength) return trimmed;
  return `${trimmed.slice(0, excerptLength).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
