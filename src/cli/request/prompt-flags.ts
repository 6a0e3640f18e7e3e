import type { PromptYamlFlags } from './prompt-yaml.ts';
import type { Context } from '../context.ts';
import { refuseTwoPrompts } from '../input/prompt.ts';
import { usageError } from '../../library/index.ts';
import { findPrompt } from '../input/named-prompts.ts';

/** Whether a path names a prompt file in the format of GitHub Models. */
export function isPromptYaml(path: string): boolean {
  return /\.prompt\.ya?ml$/i.test(path);
}

/**
 * The flags, completed from their `.prompt.yml` file; typed flags win. Prompt files of other types are read elsewhere. Throws
 * GatewayError usage.
 */
export async function withPromptYaml<Flags extends PromptYamlFlags>(
  words: readonly string[],
  flags: Flags,
  context: Context,
  command = context.command,
): Promise<Flags> {
  if (flags.template !== undefined) return (await toNamedPrompt(words, flags, context, command)) as Flags;
  const { promptFile, ...typed } = flags;
  if (promptFile === undefined || !isPromptYaml(promptFile)) return flags;
  refuseTwoPrompts(words, flags);
  const { mergePromptYaml, openPromptYaml } = await import('./prompt-yaml.ts');
  const { content, place } = await openPromptYaml('--prompt-file', promptFile, context);
  return mergePromptYaml(typed, content, { place, command }) as unknown as Flags;
}

/** The flags with a prompt by its name: a `.prompt.yml` in their place, or the path of a text. Throws GatewayError usage. */
async function toNamedPrompt(
  words: readonly string[],
  { template = '', ...typed }: PromptYamlFlags,
  context: Context,
  command: string,
): Promise<PromptYamlFlags> {
  if (typed.promptFile !== undefined)
    throw usageError('--template and --prompt-file both name a prompt', 'keep one of them');
  const path = await findPrompt(template, context.io);
  if (!isPromptYaml(path)) return { ...typed, template: path };
  const { mergePromptYaml, openPromptYaml } = await import('./prompt-yaml.ts');
  const { content, place } = await openPromptYaml('--template', path, context);
  const hasPrompt = content.turns.at(-1)?.role === 'user';
  if (hasPrompt && (words.length > 0 || typed.prompt !== undefined))
    throw usageError(
      `${place} ends with a prompt of its own, and another one is given`,
      'fill its {{blanks}} with --var, pipe the text, or leave the prompt out of the file',
    );
  return mergePromptYaml(typed, content, { place, command });
}
