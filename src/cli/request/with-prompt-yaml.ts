import { refuseTwoPrompts } from '../input/prompt.ts';
import type { PromptYamlFlags, PromptYamlUse } from './prompt-yaml-flags.ts';

/** Whether a path names a prompt file in the format of GitHub Models. */
export function isPromptYaml(path: string): boolean {
  return /\.prompt\.ya?ml$/i.test(path);
}

/**
 * The flags with what their `.prompt.yml` file says in its place; what was typed wins. Other prompt files are left to those
 * who read them. Throws GatewayError usage.
 */
export async function withPromptYaml<Flags extends PromptYamlFlags>(
  words: readonly string[],
  flags: Flags,
  use: PromptYamlUse,
): Promise<Flags> {
  const { promptFile, ...typed } = flags;
  if (promptFile === undefined || !isPromptYaml(promptFile)) return flags;
  refuseTwoPrompts(words, flags);
  const { readPromptYaml } = await import('./prompt-yaml-flags.ts');
  return (await readPromptYaml(promptFile, typed, use)) as unknown as Flags;
}
