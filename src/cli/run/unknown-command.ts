import { type GatewayError, usageError } from '../../errors.ts';
import { shellWord } from '../../shell-word.ts';
import { type Names, namesInside, typedNames, wordsOf } from './argv.ts';

/** Words that other programs have for what is meant, by the command that they stand for. */
const others: Readonly<Record<string, readonly string[]>> = {
  text: ['complete', 'completions', 'generate', 'prompt', 'run'],
  chat: ['ask', 'message', 'messages'],
  'image gen': ['create', 'draw', 'generate', 'make', 'new', 'picture'],
  'image edit': ['change', 'modify', 'variation'],
  'sessions list': ['ls'],
  'sessions show': ['cat', 'print', 'view'],
  'sessions rm': ['delete', 'del', 'remove'],
  'config list': ['ls', 'show'],
  'config init': ['auth', 'login', 'setup'],
  'config set': ['add'],
  'config unset': ['delete', 'del', 'remove', 'rm'],
  'config use': ['select', 'switch'],
  doctor: ['check', 'ping', 'test'],
  serve: ['proxy', 'server', 'start'],
};

/** The commands that answer a prompt, by the group in which a bare prompt was typed. */
const prompts: Readonly<Record<string, string>> = { '': 'text', image: 'image gen' };

const longestPrompt = 60;

/** What to type for a word that names no command: the one that is meant, or the one that takes it as a prompt. */
export function explainUnknownCommand(
  { argv, names }: { argv: readonly string[]; names: Names },
  nearest: string | undefined,
): GatewayError {
  const words = wordsOf(argv);
  const group = typedNames(words, names);
  const [word = '', ...rest] = words.slice(group.length);
  const message = `unknown command '${word}'`;
  if (word === 'version') return usageError(message, 'did you mean: gateway-cli --version');
  const place = ['gateway-cli', ...group].join(' ');
  const meant = meantBy(word, group, names) ?? nearest?.split(', ').map((name) => [...group, name].join(' '));
  if (meant !== undefined)
    return usageError(message, `did you mean: ${meant.map((name) => `gateway-cli ${name}`).join(', or ')}`);
  const prompt = prompts[group.join(' ')];
  const ask = prompt === undefined ? '' : `to ask a model: gateway-cli ${prompt} ${promptOf([word, ...rest])}\n`;
  return usageError(message, `${ask}see: ${place} --help`);
}

function meantBy(word: string, group: readonly string[], names: Names): string[] | undefined {
  const before = group.length === 0 ? '' : `${group.join(' ')} `;
  const path = typedNames(word.split(/[-_:/. ]/), namesInside(group, names));
  if (path.length > 1) return [before + path.join(' ')];
  const own = Object.keys(namesInside(group, names)).filter((name) => !name.startsWith('_'));
  const longer = own.filter((name) => word.length > 2 && (name.startsWith(word) || word.startsWith(name)));
  if (longer.length > 0 && /^[a-z]+$/i.test(word)) return longer.map((name) => before + name);
  const same = Object.keys(others).filter(
    (name) => name.startsWith(before) && others[name]?.includes(word.toLowerCase()),
  );
  const found = [...same, ...own.flatMap((name) => insideGroup(before + name, word, names))];
  return found.length === 0 ? undefined : found;
}

/** `gen` stands for `image gen`. */
function insideGroup(group: string, word: string, names: Names): string[] {
  return Object.hasOwn(namesInside(group.split(' '), names), word) ? [`${group} ${word}`] : [];
}

function promptOf(words: readonly string[]): string {
  const prompt = words.map(shellWord).join(' ');
  return prompt.length > longestPrompt ? '"…"' : prompt;
}
