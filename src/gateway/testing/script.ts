import { closest, imageFacts, type JsonValue, usageError } from '../../library/index.ts';
import { faults as faultModels, findFault } from '../faults/table.ts';
import { estimateTokens, type Candidate, type MadeImage, type TextTask } from '../models/task.ts';
import { Problem } from '../problem.ts';
import type { AnswerScript as ModelScript, Scripted } from '../types.ts';
import type { Answer, PromptAnswer, Script } from './testing-types.ts';

/** An answer, checked and made for the gateway. */
interface ScriptRule {
  prompt: string | RegExp | undefined;
  turns: readonly Scripted[];
  /** Number of requests that the rule answered. */
  count: number;
}

/**
 * Makes the answers of a test. Throws GatewayError usage for an empty answer, or an unknown fault. The function that it returns
 * throws Problem 404 if no answer matches.
 */
export async function createScript({ answers, faults = [] }: Script): Promise<ModelScript> {
  const rules = answers && (await Promise.all(toAnswerList(answers).map(prepareRule)));
  const waiting = faults.map((name) => requireFault(name));
  const answer = (task: TextTask): Scripted | undefined => {
    const fault = waiting.shift();
    const text = findLastPrompt(task);
    const rule = rules?.find(({ prompt }) => matchesPrompt(text, prompt));
    const turn = rule?.turns[Math.min(rule.count, rule.turns.length - 1)];
    if (fault) return { ...turn, fault };
    if (rule) rule.count++;
    if (rules !== undefined && turn === undefined)
      throw new Problem(404, `no answer of the test matches the prompt '${text.slice(0, 200)}'`);
    return turn;
  };
  return { anyModel: rules !== undefined, answer: ({ task }) => answer(task) };
}

/** The last text of the user: after a tool's result, the text of an earlier turn. */
export function findLastPrompt({ prompt, earlier }: Pick<TextTask, 'prompt' | 'earlier'>): string {
  return [...earlier, prompt].findLast((text) => text !== '') ?? '';
}

function toAnswerList(answers: NonNullable<Script['answers']>): readonly PromptAnswer[] {
  if (isAnswerList(answers)) return answers;
  return Object.entries(answers).map(([prompt, answer]) => ({ prompt, ...toAnswer(answer) }));
}

function isAnswerList(answers: NonNullable<Script['answers']>): answers is readonly PromptAnswer[] {
  return Array.isArray(answers);
}

function toAnswer(answer: Answer | string): Answer {
  return typeof answer === 'string' ? { text: answer } : answer;
}

function matchesPrompt(text: string, wanted: string | RegExp | undefined): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === 'string' ? text.includes(wanted) : text.search(wanted) >= 0;
}

async function prepareRule({ prompt, turns, ...answer }: PromptAnswer): Promise<ScriptRule> {
  const all = turns === undefined ? [answer] : turns.map(toAnswer);
  const name = prompt === undefined ? 'an answer' : `the answer to '${String(prompt)}'`;
  if (all.length === 0) throw usageError(`${name} has no turns`, "for example: turns: ['first', 'second']");
  return { prompt, turns: await Promise.all(all.map((turn) => prepareAnswer(turn, name))), count: 0 };
}

async function prepareAnswer({ text, image, tool, stream, fault }: Answer, name: string): Promise<Scripted> {
  if (fault !== undefined) return { fault: requireFault(fault) };
  if (image === true) return { draws: true };
  const pieces = stream?.filter((piece) => typeof piece === 'string');
  const said = text ?? pieces?.join('');
  if (said === undefined && image === undefined && tool === undefined)
    throw usageError(`${name} says nothing`, 'give it one of text, image, tool, stream, fault or turns');
  const details = image && (await prepareImage(image, name));
  const candidate: Candidate = {
    parts: [...(said ? [{ text: said }] : []), ...(details ? [{ image: details }] : [])],
    calls: tool && [{ name: tool.name, input: (tool.input ?? {}) as JsonValue }],
    ended: tool ? 'call' : 'end',
    usage: { thinking: 0, answer: estimateTokens(said ?? '') },
  };
  return { candidate, ...(stream && { pieces: pieces ?? [], pauses: readPauses(stream) }) };
}

/** The wait before each delta, ms. */
function readPauses(stream: readonly (string | number)[]): number[] {
  const pauses: number[] = [];
  let pause = 0;
  for (const piece of stream) {
    if (typeof piece === 'number') pause += piece;
    else {
      pauses.push(pause);
      pause = 0;
    }
  }
  return pauses;
}

async function prepareImage(bytes: Uint8Array, name: string): Promise<MadeImage> {
  const { mimeType, width, height } = imageFacts(bytes);
  if (mimeType === undefined || width === undefined || height === undefined)
    throw usageError(`the image of ${name} is not a picture`, 'give the bytes of a PNG, JPEG or WebP file, or true');
  return { mimeType, data: Buffer.from(bytes).toString('base64'), size: { width, height } };
}

function requireFault(name: string): NonNullable<Scripted['fault']> {
  const fault = findFault(name);
  if (fault) return fault;
  const names = Object.keys(faultModels);
  throw usageError(
    `'${name}' is not a fault`,
    `did you mean ${closest(name, names) ?? names[0]}? All are in: gateway-cli help faults`,
  );
}
