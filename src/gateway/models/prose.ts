import { createRandom } from './random.ts';
import type { TextTask } from './task.ts';

const excerptLength = 600;
const mostWords = 20_000;

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
export function writeProse(task: TextTask, seed: string): string {
  const random = createRandom(seed);
  const paragraphs = [
    `This is the offline model ${task.model}; no gateway was asked.`,
    ...earlierSentences(task),
    ...inputSentences(task),
    random.pick(remarks),
  ];
  const wanted = Math.min(wantedWords(task.prompt), mostWords);
  for (let words = countWords(paragraphs.join(' ')); words < wanted;) {
    const sentence = `${random.pick(subjects)} ${random.pick(verbs)} ${random.pick(objects)}.`;
    words += countWords(sentence);
    paragraphs.push(sentence);
  }
  return paragraphs.join(' ');
}

function earlierSentences({ system, earlier }: TextTask): string[] {
  const said: string[] = [];
  if (system !== undefined && system !== '') said.push(`The system instruction says “${excerpt(system)}”.`);
  const last = earlier.at(-1);
  if (last !== undefined) said.push(`This is turn ${earlier.length + 1}; before it you wrote “${excerpt(last)}”.`);
  return said;
}

function inputSentences({ prompt, media, toolResults }: TextTask): string[] {
  const told = toolResults.map(({ name, text }) => `The tool ${name} returned “${excerpt(text)}”.`);
  if (prompt !== '') told.push(`You wrote “${excerpt(prompt)}”.`);
  told.push(...media.map(({ mimeType, bytes }) => `With it came a file of type ${mimeType} (${bytes.length} bytes).`));
  return told;
}

/** `500 words` in a prompt asks for a long answer. */
function wantedWords(prompt: string): number {
  return Number(/\b(\d{1,6}) words\b/i.exec(prompt.slice(0, excerptLength))?.[1] ?? 0);
}

function countWords(text: string): number {
  return text.split(' ').length;
}

function excerpt(text: string): string {
  const trimmed = text.trim();
  if (trimmed.length <= excerptLength) return trimmed;
  return `${trimmed.slice(0, excerptLength).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
