import type { FormatName } from './types.ts';

/** OpenAI's two formats. A service can serve a model in only one of them, and says so if it is asked in the other. */
export type OpenAiFormat = Extract<FormatName, 'completions' | 'responses'>;

export function isOpenAiFormat(name: string): name is OpenAiFormat {
  return name === 'completions' || name === 'responses';
}

const path = String.raw`(?:the )?(?:openai )?[\x60'"]?/?(?:v1/)?(responses|chat[ /]completions)\b`;

/** The words of OpenAI, and of relays: `Use the v1/responses endpoint instead`, `only supported in v1/responses`. */
const wanted = new RegExp(
  String.raw`\b(?:use|only (?:supported|available|accessible) (?:in|on|via|with|through)) ${path}`,
  'i',
);

/** Words that name only the refused format: OpenAI's for its older models, and Copilot's. */
const refused = new RegExp(
  String.raw`\bmodel\b.*\b(?:not (?:supported|available|accessible)|cannot be used) (?:in|on|via|with|by|through) ${path} (?:endpoint|api)`,
  'is',
);

/** The format in which a service wants to be asked, by the words of its refusal. */
export function findNamedFormat(message: string): OpenAiFormat | undefined {
  const named = wanted.exec(message)?.[1];
  const other = named === undefined ? refused.exec(message)?.[1] : undefined;
  const word = (named ?? other)?.toLowerCase();
  if (word === undefined) return undefined;
  return (word === 'responses') === (named !== undefined) ? 'responses' : 'completions';
}
