import type { FormatName } from './types.ts';

/** OpenAI's two formats. A service can serve a model in only one of them, and says so if it is asked in the other. */
type OpenAiFormat = Extract<FormatName, 'completions' | 'responses'>;

export function isOpenAiFormat(name: string): name is OpenAiFormat {
  return name === 'completions' || name === 'responses';
}
