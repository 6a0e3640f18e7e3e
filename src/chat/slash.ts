/** The commands of the interactive mode, with what they do. */
export const slashCommands = {
  help: 'this list',
  model: '<id>: ask another model; without an id: which one is asked',
  system: '<text>: the system instruction from now on; - takes it away, nothing shows it',
  image: '<path>: send a picture along with the next prompt',
  save: '<name|file.jsonl|file.md>: keep it as a session of that name, or write Markdown',
  retry: 'ask the last prompt again; the new answer takes the place of the old one',
  exit: 'leave (also Ctrl-D, or Ctrl-C twice)',
} as const;

/** What a line of the interactive mode asks for. */
export type Entry =
  | { kind: 'nothing' }
  | { kind: 'prompt'; text: string }
  | { kind: 'command'; name: keyof typeof slashCommands; argument: string }
  | { kind: 'unknown'; name: string };

/** Reads an entry: a slash in front makes a command, a blank before the slash a prompt. */
export function parseEntry(text: string): Entry {
  if (text.trim() === '') return { kind: 'nothing' };
  const match = /^\/(\S*)(?:\s+([\s\S]*))?$/.exec(text);
  if (!match) return { kind: 'prompt', text: text.startsWith(' /') ? text.slice(1) : text };
  const [, name = '', argument = ''] = match;
  if (name === 'quit') return { kind: 'command', name: 'exit', argument: '' };
  if (isCommand(name)) return { kind: 'command', name, argument: argument.trim() };
  return { kind: 'unknown', name };
}

function isCommand(name: string): name is keyof typeof slashCommands {
  return Object.hasOwn(slashCommands, name);
}
